// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Exchanges within a warp, for elements of any size.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

#include "../../elements.hpp"

namespace inthist::cuda {

constexpr int kWarp = 32;

template <class T>
__device__ inline T shuffle_up (const T &value, int step)
{
  return T (__shfl_up_sync (~0u, value, step));
}

__device__ inline F32x4 shuffle_up (const F32x4 &value, int step)
{
  F32x4 out;
  for (int c = 0; c < 4; c++)
    out.channels[c] = __shfl_up_sync (~0u, value.channels[c], step);
  return out;
}

template <class T>
__device__ inline T shuffle (const T &value, int lane)
{
  return T (__shfl_sync (~0u, value, lane));
}

__device__ inline F32x4 shuffle (const F32x4 &value, int lane)
{
  F32x4 out;
  for (int c = 0; c < 4; c++)
    out.channels[c] = __shfl_sync (~0u, value.channels[c], lane);
  return out;
}

/// Scans over the lanes (Kogge and Stone 1973; Chen et al. 2018, Algorithm 3, with lane >= step).
template <class T>
__device__ inline T warp_scan (T value)
{
  const int lane = threadIdx.x % kWarp;
#pragma unroll
  for (int step = 1; step < kWarp; step *= 2) {
    const T other = shuffle_up (value, step);
    if (lane >= step)
      value = T (value + other);
  }
  return value;
}

/// Uses the shuffle's own predicate of which lanes have a source.
__device__ inline std::uint32_t warp_scan (std::uint32_t value)
{
#pragma unroll
  for (int step = 1; step < kWarp; step *= 2)
    asm volatile("{ .reg .pred has; .reg .u32 other; shfl.sync.up.b32 other|has, %0, %1, 0, -1; "
                 "@has add.u32 %0, %0, other; }"
                 : "+r"(value)
                 : "r"(step));
  return value;
}

/// Returns the sum over the lanes, to every lane.
__device__ inline std::uint32_t warp_sum (std::uint32_t value)
{
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync (~0u, value);
#else
  return __shfl_sync (~0u, warp_scan (value), kWarp - 1);
#endif
}

}  // namespace inthist::cuda
