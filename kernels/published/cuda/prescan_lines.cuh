// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The scan kernel of cw-b and cw-sts. A block scans a row or a column, in chunks of two elements
// for each thread, and carries the sum of a chunk to the next one. The prescan of the CUDA SDK is
// exclusive (Poostchi et al. 2017, eq. 3), the integral histogram inclusive (their Algorithm 1), so
// each element is added to its prefix.
#pragma once

#include "prescan.cuh"
#include "scan_planes.cuh"

namespace inthist::cuda {

template <class T>
__global__ void __launch_bounds__ (1024)
prescan_lines (Planes<T> planes, int first_plane, int first_line)
{
  extern __shared__ __align__ (16) unsigned char shared[];
  T *temp = reinterpret_cast<T *> (shared);
  const HarrisIndex index;
  const int threads = blockDim.x, chunk = 2 * threads;
  T *line = planes.line (first_plane + blockIdx.y, first_line + blockIdx.x);
  T carry = T (0);
  for (int x0 = 0; x0 < planes.width; x0 += chunk) {
    T own[2];
    for (int i = 0; i < 2; i++) {
      const int at = i * threads + threadIdx.x;
      own[i] = x0 + at < planes.width ? line[x0 + at] : T (0);
      temp[index (at)] = own[i];
    }
    const T sum = prescan (temp, chunk, index);
    for (int i = 0; i < 2; i++) {
      const int at = i * threads + threadIdx.x;
      if (x0 + at < planes.width)
        line[x0 + at] = T (carry + temp[index (at)] + own[i]);
    }
    carry += sum;
    __syncthreads ();
  }
}

inline constexpr int kPrescanThreads[] = { 128, 1024, 512, 256, 64, 32 };

template <class T>
void launch_prescan (const Planes<T> &planes, int first_plane, int planes_at_once, int first_line,
                     int lines, const Job &job)
{
  const int threads = job.tuning.threads_or (kPrescanThreads);
  prescan_lines<<<dim3 (lines, planes_at_once), threads,
                  HarrisIndex::elements (2 * threads) * sizeof (T), job.stream>>> (
      planes, first_plane, first_line);
}

}  // namespace inthist::cuda
