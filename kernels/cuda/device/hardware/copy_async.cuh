// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Copies from global to shared memory (cp.async, PTX ISA). A thread starts a copy, continues, and
// waits for the copy later. Before compute capability 8.0, copies are loads and stores.
#pragma once

#include <cstdint>
#include <type_traits>

#include <cuda_runtime.h>

namespace inthist::cuda {

/// Starts a copy of 4 or 16 bytes to shared memory; the same thread waits with await_copies ().
template <int kBytes>
__device__ inline void start_copy (void *to, const void *from)
{
#if __CUDA_ARCH__ >= 800
  const auto shared = unsigned (__cvta_generic_to_shared (to));
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(kBytes)
                 : "memory");
#else
  using Word = std::conditional_t<kBytes == 16, uint4, std::uint32_t>;
  static_assert (sizeof (Word) == kBytes);
  *static_cast<Word *> (to) = *static_cast<const Word *> (from);
#endif
}

__device__ inline void await_copies ()
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

}  // namespace inthist::cuda
