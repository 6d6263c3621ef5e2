// SPDX-License-Identifier: LGPL-2.1-or-later
#include "slow_reader.hpp"

#include <cstdint>

namespace {

__global__ void copy_late (const std::uint32_t *from, std::uint32_t *to, std::size_t n,
                           long long cycles)
{
  for (const long long start = clock64 (); clock64 () - start < cycles;) {
  }
  for (std::size_t i = blockIdx.x * std::size_t (blockDim.x) + threadIdx.x; i < n;
       i += gridDim.x * std::size_t (blockDim.x))
    to[i] = from[i];
}

}  // namespace

extern "C" int slow_copy (const void *from, void *to, std::size_t bytes, int milliseconds,
                          void *stream)
{
  int device = 0, kilohertz = 0;
  cudaGetDevice (&device);
  if (const cudaError_t error = cudaDeviceGetAttribute (&kilohertz, cudaDevAttrClockRate, device);
      error != cudaSuccess)
    return int (error);
  // only a few blocks, so that other kernels run at the same time
  copy_late<<<4, 256, 0, static_cast<cudaStream_t> (stream)>>> (
      static_cast<const std::uint32_t *> (from), static_cast<std::uint32_t *> (to),
      bytes / sizeof (std::uint32_t), static_cast<long long> (kilohertz) * milliseconds);
  return int (cudaGetLastError ());
}
