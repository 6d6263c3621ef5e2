// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The memory that an element offers to the element upstream, so that frames arrive in memory that a
// GPU reads fast.
#pragma once

#include <memory>

#include <gst/elements/device/cuda_device.hpp>

namespace integralhist {

/// Completes an ALLOCATION query for so many frames in flight: offers a pool of the device's CUDA
/// memory, or memory that is pinned in the context, where downstream wants no special memory.
void offer_allocation (GstQuery *query, CudaDevice &device,
                       const std::shared_ptr<CudaContext> &context, unsigned in_flight);

}  // namespace integralhist
