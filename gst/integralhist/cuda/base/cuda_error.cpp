// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cuda_error.hpp"

#include <gst/integralhist/memory/memory_messages.hpp>

namespace integralhist {

using inthist::cuda::CudaError;
using inthist::cuda::Memory;

Available free_on_device ()
{
  std::size_t available = 0, total = 0;
  cudaMemGetInfo (&available, &total);
  return { available, "GPU memory" };
}

std::string no_memory_on_device (const std::string &what, const CudaError &error)
{
  const bool pinned = error.memory == Memory::pinned;
  return no_memory_text (what + (pinned ? ", pinned on the host," : ", on the GPU,"), error.bytes,
                         pinned ? available_memory () : free_on_device ());
}

}  // namespace integralhist

integralhist::Error inthist::cuda::to_error (const CudaError &error)
{
  using integralhist::Error;
  const std::string detail = integralhist::joined (cudaGetErrorName (error.code), " at ",
                                                   integralhist::name_of (error.where));
  if (error.code == cudaErrorMemoryAllocation && error.bytes > 0)
    return Error (Error::Kind::no_memory,
                  integralhist::no_memory_on_device ("what a frame needs besides its tensor", error)
                      + ": lower async-depth, set max-tensors, or download=never",
                  detail);
  const bool no_memory = error.code == cudaErrorMemoryAllocation;  // CUDA itself needed memory
  return Error (no_memory ? Error::Kind::no_memory : Error::Kind::failed,
                integralhist::joined ("CUDA: ", error.what ()), detail);
}
