// SPDX-License-Identifier: LGPL-2.1-or-later
#include "busy.hpp"

namespace {

__global__ void wait_for_end (Busy *busy, long long cycles)
{
  if (threadIdx.x == 0)
    busy->started[blockIdx.x] = 1;
  for (const long long start = clock64 (); clock64 () - start < cycles && !busy->done;) {
  }
}

}  // namespace

extern "C" int keep_busy (Busy *busy, int blocks, std::size_t shared_bytes, long long cycles,
                          void *stream)
{
  if (blocks > Busy::kMaxBlocks)
    return cudaErrorInvalidValue;
  if (const cudaError_t error = cudaFuncSetAttribute (
          wait_for_end, cudaFuncAttributeMaxDynamicSharedMemorySize, int (shared_bytes));
      error != cudaSuccess)
    return int (error);
  wait_for_end<<<blocks, 256, shared_bytes, static_cast<cudaStream_t> (stream)>>> (busy, cycles);
  return int (cudaGetLastError ());
}
