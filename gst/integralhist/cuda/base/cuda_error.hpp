// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Turns CUDA errors into the type Error (base/error.hpp), and tells how much GPU memory is free.
#pragma once

#include <string>

#include <kernels/cuda/raii.hpp>

#include <gst/integralhist/memory/host_memory.hpp>

namespace inthist::cuda {

/// Converts the error of a failed CUDA call. The constructor of Error calls this function.
integralhist::Error to_error (const CudaError &error);

}  // namespace inthist::cuda

namespace integralhist {

Available free_on_device ();
/// Returns the error message for GPU or pinned memory that `what` needs but that is not free.
std::string no_memory_on_device (const std::string &what, const inthist::cuda::CudaError &error);

}  // namespace integralhist
