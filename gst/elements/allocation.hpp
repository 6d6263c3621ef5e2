// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the element tells upstream of the buffers that it would like.
#pragma once

#include "cuda_device.hpp"

namespace integralhist {

#if INTHIST_CUDA

/// Adds the element's wishes to an ALLOCATION query that downstream has answered, or has not:
/// memory that the device reads without a copy on the way, unless downstream has memory of its own,
/// and buffers for the frames that are in flight.
void propose_buffers (GstQuery *query, CudaDevice &device,
                      const std::shared_ptr<CudaContext> &context, unsigned in_flight);

#endif

}  // namespace integralhist
