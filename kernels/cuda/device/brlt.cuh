// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pieces of Chen et al. 2018: a warp holds a matrix of 32 x 32 elements in registers, element [j]
// of lane i being row j, column i; the block-register-local transpose (their Algorithm 5) exchanges
// rows and columns through shared memory, a few warps at a time.
#pragma once

#include "planes.cuh"
#include "warp.cuh"

namespace inthist::cuda {

/// Warps of a block: 1024 threads of 4-byte elements, as in the paper; fewer where an element is
/// larger, for the registers.
template <class T>
constexpr int kChenWarps = sizeof (T) <= 4 ? 32 : 128 / sizeof (T);

/// Their S: matrices that fit shared memory at once.
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

/// Of `sums`, one a warp and index: the total of the warps before this one, and in `total` of all
/// (their Fig. 3c). All threads call it, with their own index 0..31; the last thread with an index
/// holds the warp's sum.
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
