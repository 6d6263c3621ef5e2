// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Turns CUDA errors into Errors, and says how much memory a GPU lacks.
#pragma once

#include <string>

#include <kernels/cuda/raii.hpp>

#include <gst/integralhist/memory/host_memory.hpp>

namespace inthist::cuda {

/// Converts the error of a failed CUDA call. Error's constructor calls this.
integralhist::Error to_error (const CudaError &error);

}  // namespace inthist::cuda

namespace integralhist {

/// Returns how much device memory is free in the current context.
Available free_on_device ();
/// Returns the error message for device memory that could not be allocated; `what` needs it.
std::string no_memory_on_device (const std::string &what, const inthist::cuda::CudaError &error);

}  // namespace integralhist
