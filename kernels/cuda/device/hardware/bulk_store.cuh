// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Stores from a warp's shared memory to global memory, in one copy that runs while the warp
// continues (cp.async.bulk, PTX ISA). Before compute capability 9.0, the lanes copy 16 bytes each.
#pragma once

#include <cstdint>

#include "warp.cuh"

namespace inthist::cuda {

/// Waits until the warp's last bulk store has read shared memory, which may then be overwritten.
__device__ inline void wait_for_bulk_store ()
{
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
  __syncwarp ();
}

/// Starts to copy `bytes` bytes that the warp has written from shared to global memory. Size and
/// addresses are multiples of 16. L2 need not keep the copy, because it is not read soon.
__device__ inline void bulk_store (std::uint8_t *to, const std::uint8_t *from, unsigned bytes)
{
  const int lane = threadIdx.x % kWarp;
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncwarp ();
  if (lane == 0)
    asm volatile(
        "{ .reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0; "
        "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, policy; "
        "cp.async.bulk.commit_group; }" ::"l"(to),
        "r"(unsigned (__cvta_generic_to_shared (from))), "r"(bytes)
        : "memory");
#else
  __syncwarp ();
  for (unsigned at = lane * 16; at < bytes; at += kWarp * 16)
    __stcs (reinterpret_cast<uint4 *> (to + at), *reinterpret_cast<const uint4 *> (from + at));
#endif
}

/// Waits until all bulk stores of the warp have reached global memory.
__device__ inline void finish_bulk_stores ()
{
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
}

}  // namespace inthist::cuda
