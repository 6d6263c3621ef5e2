// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Shuffles, sums and prefix sums over the lanes of a warp, for elements of any size.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

#include "../../../planes.hpp"

namespace inthist::cuda {

constexpr int kWarp = 32;

/// Applies `exchange`, a warp shuffle of one number, to a value. Overloads for types of several
/// numbers, such as F32x4, shuffle each number.
template <class T, class Exchange>
__device__ inline T exchange_channels (const T &value, Exchange exchange)
{
  return T (exchange (value));
}

template <class T>
__device__ inline T shuffle_up (const T &value, int step)
{
  return exchange_channels (value, [=] (auto v) { return __shfl_up_sync (~0u, v, step); });
}

template <class T>
__device__ inline T shuffle_xor (const T &value, int step)
{
  return exchange_channels (value, [=] (auto v) { return __shfl_xor_sync (~0u, v, step); });
}

template <class T>
__device__ inline T shuffle (const T &value, int lane)
{
  return exchange_channels (value, [=] (auto v) { return __shfl_sync (~0u, v, lane); });
}

/// Adds to this lane's value the value of the lane whose number is lower by `step`, if that lane is
/// in the same group of kLanes lanes.
template <int kLanes = kWarp, class T>
__device__ inline T add_lane_below (const T &value, int step)
{
  const T other = shuffle_up (value, step);
  return int (threadIdx.x % kLanes) >= step ? T (value + other) : value;
}

/// Overload of add_lane_below () for u32. It uses the predicate of the shuffle, which tells whether
/// a lane has a source; the last operand of the shuffle divides the warp into groups.
template <int kLanes = kWarp>
__device__ inline std::uint32_t add_lane_below (std::uint32_t value, int step)
{
  asm volatile("{ .reg .pred has; .reg .u32 other; shfl.sync.up.b32 other|has, %0, %1, %2, -1; "
               "@has add.u32 %0, %0, other; }"
               : "+r"(value)
               : "r"(step), "n"((kWarp - kLanes) << 8));
  return value;
}

template <int kLanes = kWarp>
requires (kLanes == kWarp) __device__ inline float add_lane_below (float value, int step)
{
  asm volatile("{ .reg .pred has; .reg .f32 other; shfl.sync.up.b32 other|has, %0, %1, 0, -1; "
               "@has add.f32 %0, %0, other; }"
               : "+f"(value)
               : "r"(step));
  return value;
}

/// Returns the inclusive prefix sum of a value over each group of kLanes lanes (Kogge and Stone
/// 1973; Chen et al. 2018, Algorithm 3, with lane >= step).
template <int kLanes = kWarp, class T>
__device__ inline T warp_scan (T value)
{
#pragma unroll
  for (int step = 1; step < kLanes; step *= 2)
    value = add_lane_below<kLanes> (value, step);
  return value;
}

__device__ inline std::uint32_t warp_sum (std::uint32_t value)
{
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync (~0u, value);
#else
  return __shfl_sync (~0u, warp_scan (value), kWarp - 1);
#endif
}

__device__ inline std::uint32_t warp_min (std::uint32_t value)
{
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync (~0u, value);
#else
  for (int step = kWarp / 2; step > 0; step /= 2)
    value = min (value, __shfl_xor_sync (~0u, value, step));
  return value;
#endif
}

/// Returns kCount sums over a warp's lanes, one for each item of `values`, always in the same order
/// of additions. Lane kWarp / kCount * i gets the i-th sum.
template <int kStep = kWarp / 2, class T, int kCount>
__device__ inline T warp_sums (const T (&values)[kCount])
{
  if constexpr (kCount > 1) {
    const bool upper = threadIdx.x & kStep;
    T halves[kCount / 2];
#pragma unroll
    for (int i = 0; i < kCount / 2; i++) {
      const T own = upper ? values[i + kCount / 2] : values[i],
              other = upper ? values[i] : values[i + kCount / 2];
      halves[i] = T (own + shuffle_xor (other, kStep));
    }
    return warp_sums<kStep / 2> (halves);
  } else {
    T sum = values[0];
#pragma unroll
    for (int step = kStep; step > 0; step /= 2)
      sum = T (sum + shuffle_xor (sum, step));
    return sum;
  }
}

}  // namespace inthist::cuda
