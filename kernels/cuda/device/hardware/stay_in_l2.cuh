// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Loads and stores that ask L2 to keep their data, which is read again, so that writing the tensor
// does not push it out. Before compute capability 8.0, these are ordinary loads and stores.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

namespace inthist::cuda {

#if __CUDA_ARCH__ >= 800
__device__ inline std::uint64_t stay_in_l2 ()
{
  std::uint64_t policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

__device__ inline std::uint32_t load_that_stays (const std::uint32_t *from)
{
  std::uint32_t value;
  asm volatile("ld.global.L2::cache_hint.b32 %0, [%1], %2;"
               : "=r"(value)
               : "l"(from), "l"(stay_in_l2 ()));
  return value;
}

__device__ inline uint2 load_that_stays (const uint2 *from)
{
  uint2 value;
  asm volatile("ld.global.L2::cache_hint.v2.b32 {%0, %1}, [%2], %3;"
               : "=r"(value.x), "=r"(value.y)
               : "l"(from), "l"(stay_in_l2 ()));
  return value;
}

__device__ inline uint4 load_that_stays (const uint4 *from)
{
  uint4 value;
  asm volatile("ld.global.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from), "l"(stay_in_l2 ()));
  return value;
}

__device__ inline void store_to_stay (std::uint32_t *to, std::uint32_t value)
{
  asm volatile("st.global.L2::cache_hint.b32 [%0], %1, %2;" ::"l"(to), "r"(value),
               "l"(stay_in_l2 ())
               : "memory");
}

__device__ inline void store_to_stay (uint2 *to, uint2 value)
{
  asm volatile("st.global.L2::cache_hint.v2.b32 [%0], {%1, %2}, %3;" ::"l"(to), "r"(value.x),
               "r"(value.y), "l"(stay_in_l2 ())
               : "memory");
}

__device__ inline void store_to_stay (uint4 *to, uint4 value)
{
  asm volatile("st.global.L2::cache_hint.v4.b32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(to),
               "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w), "l"(stay_in_l2 ())
               : "memory");
}
#else
template <class T>
__device__ inline T load_that_stays (const T *from)
{
  return *from;
}

template <class T>
__device__ inline void store_to_stay (T *to, T value)
{
  *to = value;
}
#endif

}  // namespace inthist::cuda
