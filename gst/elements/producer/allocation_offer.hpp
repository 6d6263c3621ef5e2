// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The memory offered to the element upstream, so that frames arrive where a GPU reads quickly.
#pragma once

#include <memory>

#include <gst/elements/device/cuda_device.hpp>

namespace integralhist {

/// Completes an ALLOCATION query for this many frames in flight. If downstream needs no special
/// memory, offers a pool of the device's CUDA memory, or host memory that is pinned in the context.
void offer_allocation (GstQuery *query, CudaDevice &device,
                       const std::shared_ptr<CudaContext> &context, unsigned in_flight);

}  // namespace integralhist
