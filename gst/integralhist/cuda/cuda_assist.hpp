// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/integralhist/engine/device_values.hpp>

#include "cuda_context.hpp"

namespace integralhist {

/// Has a context's GPU answer beside the CPU.
GpuAssist cuda_assist (std::shared_ptr<CudaContext> context);

}  // namespace integralhist
