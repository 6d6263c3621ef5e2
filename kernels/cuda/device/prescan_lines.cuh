// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The scan kernel of CW-B and CW-STS: a block scans one line, twice its threads at a time, and carries the sum of a chunk into the next. The prescan of the
// CUDA SDK is exclusive (Poostchi et al. 2017, eq. 3), the integral histogram is inclusive (their Algorithm 1), so each element is added to its own prefix.
#pragma once

#include "planes.cuh"
#include "prescan.cuh"

namespace inthist::cuda {

/// Lines first_line + blockIdx.x of planes first_plane + blockIdx.y.
template <class T, int kThreads>
__global__ void
__launch_bounds__ (kThreads)
prescan_lines (Planes<T> planes, int first_plane, int first_line)
{
  constexpr int kChunk = 2 * kThreads;
  __shared__ T temp[HarrisIndex::elements (kChunk)];
  const HarrisIndex index;
  T *line = planes.line (first_plane + blockIdx.y, first_line + blockIdx.x);
  T carry = T (0);
  for (int x0 = 0; x0 < planes.width; x0 += kChunk) {
    T own[2];
    for (int i = 0; i < 2; i++) {
      const int at = i * kThreads + threadIdx.x;
      own[i] = x0 + at < planes.width ? line[x0 + at] : T (0);
      temp[index (at)] = own[i];
    }
    const T sum = prescan (temp, kChunk, index);
    for (int i = 0; i < 2; i++) {
      const int at = i * kThreads + threadIdx.x;
      if (x0 + at < planes.width)
        line[x0 + at] = T (carry + temp[index (at)] + own[i]);
    }
    carry += sum;
    __syncthreads ();
  }
}

}  // namespace inthist::cuda
