// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Turns CUDA errors into Errors, and says how much memory a GPU lacks.
#pragma once

#include <string>

#include <kernels/cuda/raii.hpp>

#include <gst/integralhist/memory/host_memory.hpp>

namespace inthist::cuda {

/// Describes a failed call. Error's constructor calls it.
integralhist::Error to_error (const CudaError &error);

}  // namespace inthist::cuda

namespace integralhist {

/// Returns the free memory of the current context.
Available free_on_device ();
/// Returns the message for `what` if it could not be allocated.
std::string no_memory_on_device (const std::string &what, const inthist::cuda::CudaError &error);

}  // namespace integralhist
