// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Register matrices of Chen et al. 2018. A warp holds 32 x 32 elements in registers, element [j] of
// lane i being row j, column i. The block-register-local transpose (their Algorithm 5) exchanges
// rows and columns through shared memory, a few warps at a time.
#pragma once

#include "exchange.cuh"
#include "scan_planes.cuh"

namespace inthist::cuda {

/// The number of warps of a block in the algorithms of Chen et al. 2018: 32 as in the paper, or
/// fewer for elements of more than 4 bytes, which need more registers.
template <class T>
constexpr int kChenWarps = sizeof (T) <= 4 ? 32 : 128 / sizeof (T);

/// S in Chen et al. 2018: the number of register matrices that fit in shared memory at once.
template <class T>
constexpr int kBatch = kChenWarps<T> / 4;

template <class T>
__device__ inline void register_transpose (T (&data)[kWarp], T (*shared)[kWarp][kWarp + 1])
{
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  for (int first = 0; first < int (blockDim.x / kWarp); first += kBatch<T>) {
    if (first <= warp && warp < first + kBatch<T>) {
      T (*matrix)[kWarp + 1] = shared[warp - first];
#pragma unroll
      for (int j = 0; j < kWarp; j++)
        matrix[j][lane] = data[j];
      __syncwarp ();
#pragma unroll
      for (int j = 0; j < kWarp; j++)
        data[j] = matrix[lane][j];
    }
    __syncthreads ();
  }
}

/// Returns the sum of sums[w][index] over the warps w before this warp, and in `total` the sum over
/// all warps (Chen et al. 2018, Fig. 3c). All threads call this, each lane with another index.
template <class T>
__device__ inline T sum_of_warps_before (T (*sums)[kWarp], int index, T &total)
{
  const int warp = threadIdx.x / kWarp;
  T before = T (0);
  total = T (0);
  for (int w = 0; w < int (blockDim.x / kWarp); w++) {
    if (w == warp)
      before = total;
    total = T (total + sums[w][index]);
  }
  return before;
}

}  // namespace inthist::cuda
