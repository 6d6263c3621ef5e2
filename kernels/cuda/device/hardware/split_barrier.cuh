// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A barrier for the threads of a block, in two halves (mbarrier, PTX ISA). A thread arrives, goes
// on with other work, and later waits until all threads have arrived. Before compute capability
// 8.0, arrive () does nothing, and wait () is __syncthreads ().
#pragma once

#include <cstdint>

namespace inthist::cuda {

/// Must lie in shared memory.
class SplitBarrier {
public:
#if __CUDA_ARCH__ >= 800
  /// Initialises the barrier. One thread calls this, and a __syncthreads () must follow.
  __device__ void set_up (int threads)
  {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at ()), "r"(threads) : "memory");
  }

  /// Arrives at the barrier. Threads that wait in this round then see this thread's writes to
  /// shared memory, and may overwrite what this thread has read. Every thread arrives, because the
  /// checking tool racecheck would not follow one arrival for each warp.
  __device__ void arrive ()
  {
    asm volatile("{ .reg .b64 round; mbarrier.arrive.shared.b64 round, [%0]; }" ::"r"(at ())
                 : "memory");
  }

  /// Waits until all threads have arrived in a round; `parity` is 0 in the first, and alternates.
  __device__ void wait (int parity)
  {
    asm volatile("{ .reg .pred all; again: mbarrier.test_wait.parity.shared.b64 all, [%0], %1; "
                 "@!all bra again; }" ::"r"(at ()),
                 "r"(parity)
                 : "memory");
  }

private:
  __device__ unsigned at ()
  {
    return unsigned (__cvta_generic_to_shared (&state_));
  }

  std::uint64_t state_;
#else
  __device__ void set_up (int) {}
  __device__ void arrive () {}
  __device__ void wait (int)
  {
    __syncthreads ();
  }
#endif
};

}  // namespace inthist::cuda
