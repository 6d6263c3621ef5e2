// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames in a GPU's memory that are computed when somebody asks (on_demand_tensor.hpp). A frame's
// values are copied on the GPU, a byte a pixel; then its buffer is no longer needed. Who asks has
// the GPU compute a tensor of the box around what is asked, and answer from it.
#pragma once

#include <gst/integralhist/on_demand/on_demand_engine.hpp>

#include "cuda_context.hpp"

namespace integralhist {

/// Keeps frames on the context's GPU.
std::unique_ptr<DeviceStore> make_cuda_store (std::shared_ptr<CudaContext> context,
                                              Download download);

}  // namespace integralhist
