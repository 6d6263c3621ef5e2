// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The pass of scanrow-brlt and brlt-scanrow (Chen et al. 2018). A block handles 32 rows, and each
// of its warps has a matrix of 32 x 32 elements in registers. A Scan scans the rows of the matrix
// and transposes it. The sums of the warps are added up in shared memory. The result is stored
// transposed; a second pass makes it upright.
#pragma once

#include <algorithm>

#include "brlt.cuh"

namespace inthist::cuda {

template <class Scan, class T>
__global__ void __launch_bounds__ (kWarp *kChenWarps<T>)
scan_and_turn (Planes<T> in, Planes<T> out)
{
  __shared__ T matrices[kBatch<T>][kWarp][kWarp + 1];
  __shared__ T sums[kChenWarps<T>][kWarp];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, y0 = blockIdx.x * kWarp,
            p = blockIdx.y;
  T carry = T (0);  // sum of the lane's row over the columns so far
  for (int first = 0; first < in.width; first += blockDim.x) {
    const int x0 = first + warp * kWarp;
    T data[kWarp];
#pragma unroll
    for (int j = 0; j < kWarp; j++)
      data[j] = y0 + j < in.height && x0 + lane < in.width ? in.line (p, y0 + j)[x0 + lane] : T (0);
    Scan::run (data, matrices);  // each lane now has 32 columns of one row in `data`
    sums[warp][lane] = data[kWarp - 1];
    __syncthreads ();
    T total;
    const T before = T (carry + sum_of_warps_before (sums, lane, total));
    carry = T (carry + total);
#pragma unroll
    for (int j = 0; j < kWarp; j++)
      if (x0 + j < in.width && y0 + lane < in.height)
        out.line (p, x0 + j)[y0 + lane] = T (data[j] + before);
    __syncthreads ();
  }
}

template <class Scan>
struct ScanAndTurn : Transposing {
  template <class T>
  static void pass (const Planes<T> &in, const Planes<T> &out, const Job &job)
  {
    scan_and_turn<Scan>
        <<<dim3 (divide_up (in.height, kWarp), in.count),
           kWarp * std::min (kChenWarps<T>, divide_up (in.width, kWarp)), 0, job.stream>>> (in,
                                                                                            out);
  }

  template <class T, class Source>
  static int run (const Planes<T> &out, Source source, const Job &job)
  {
    const Planes<T> turned = out.transposed (job.workspace);
    initialise (out, source, job);
    job.stage ("rows");
    pass (out, turned, job);
    job.stage ("columns");
    pass (turned, out, job);
    return cudaGetLastError ();
  }
};

}  // namespace inthist::cuda
