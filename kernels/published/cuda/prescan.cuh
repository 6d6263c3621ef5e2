// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The work-efficient scan of a block (Blelloch 1990; Harris, Sengupta and Owens, GPU Gems 3,
// chapter 39), which Poostchi et al., Bilgic et al. and Lee and Choe build on. The up-sweep builds
// a tree of partial sums in place, and the down-sweep turns it into exclusive prefix sums, with 2
// (n - 1) additions in all. A type Index places elements so that the tree avoids bank conflicts.
#pragma once

#include <cuda_runtime.h>

namespace inthist::cuda {

/// Places elements in shared memory with Harris's padding: one unused word after every 32 words.
struct HarrisIndex {
  __host__ __device__ constexpr int operator() (int i) const { return i + i / 32; }
  static constexpr int elements (int n) { return n + n / 32; }
};

/// Replaces n elements of `temp` by their exclusive prefix sums, and returns their sum. n is a
/// power of two. All threads of the block call this, and are synchronised at its begin and end.
template <class T, class Index>
__device__ inline T prescan (T *temp, int n, Index index)
{
  int offset = 1;
  for (int nodes = n / 2; nodes > 0; nodes /= 2, offset *= 2) {
    __syncthreads ();
    for (int i = threadIdx.x; i < nodes; i += blockDim.x)
      temp[index (offset * (2 * i + 2) - 1)] += temp[index (offset * (2 * i + 1) - 1)];
  }
  __syncthreads ();
  const T sum = temp[index (n - 1)];
  __syncthreads ();
  if (threadIdx.x == 0)
    temp[index (n - 1)] = T (0);
  for (int nodes = 1; nodes < n; nodes *= 2) {
    offset /= 2;
    __syncthreads ();
    for (int i = threadIdx.x; i < nodes; i += blockDim.x) {
      const int left = index (offset * (2 * i + 1) - 1), right = index (offset * (2 * i + 2) - 1);
      const T t = temp[left];
      temp[left] = temp[right];
      temp[right] += t;
    }
  }
  __syncthreads ();
  return sum;
}

}  // namespace inthist::cuda
