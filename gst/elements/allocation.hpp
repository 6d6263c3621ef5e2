// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "cuda_device.hpp"

namespace integralhist {

#if INTHIST_CUDA

/// Completes an ALLOCATION query: pinned or CUDA memory, which the device reads without another
/// copy, and buffers for the frames in flight. Downstream's own wishes stay.
void propose_buffers (GstQuery *query, CudaDevice &device,
                      const std::shared_ptr<CudaContext> &context, unsigned in_flight);

#endif

}  // namespace integralhist
