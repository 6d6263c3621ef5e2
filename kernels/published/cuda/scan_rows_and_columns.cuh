// SPDX-License-Identifier: LGPL-2.1-or-later
//
// ScanRow and ScanColumn of Chen et al. 2018, section IV-C, in place. Rows: a warp scans a row with
// shuffles, 32 elements at a time of 1024 in registers, and carries the last sum along. Columns: a
// block handles 32 columns, and each warp has 32 rows of them in registers. A lane adds up one
// column serially, and the sums of the warps are added up through shared memory.
#pragma once

#include <algorithm>

#include "brlt.cuh"

namespace inthist::cuda {

constexpr int kRowWarps = 4;  // warps of a block that scans rows: small blocks fill a GPU evenly

template <class T>
__global__ void __launch_bounds__ (kWarp *kRowWarps)
scan_row (Planes<T> planes)
{
  const int lane = threadIdx.x % kWarp, y = blockIdx.x * kRowWarps + threadIdx.x / kWarp;
  if (y >= planes.height)
    return;
  T *line = planes.line (blockIdx.y, y);
  T carry = T (0);
  for (int first = 0; first < planes.width; first += kWarp * kWarp) {
    T data[kWarp];
#pragma unroll
    for (int j = 0; j < kWarp; j++) {
      const int x = first + j * kWarp + lane;
      data[j] = x < planes.width ? line[x] : T (0);
    }
#pragma unroll
    for (int j = 0; j < kWarp; j++) {
      data[j] = T (warp_scan (data[j]) + carry);
      carry = shuffle (data[j], kWarp - 1);
      const int x = first + j * kWarp + lane;
      if (x < planes.width)
        line[x] = data[j];
    }
  }
}

/// The number of warps of a block that scans columns, half as many as in Chen et al. 2018: with
/// more, 32 elements and their addresses would not fit in the registers of a thread.
template <class T>
constexpr int kColumnWarps = kChenWarps<T> / 2;

template <class T>
__global__ void __launch_bounds__ (kWarp *kColumnWarps<T>)
scan_column (Planes<T> planes)
{
  __shared__ T sums[kColumnWarps<T>][kWarp];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, x = blockIdx.x * kWarp + lane,
            p = blockIdx.y;
  T carry = T (0);
  for (int first = 0; first < planes.height; first += blockDim.x) {
    const int y0 = first + warp * kWarp, rows = x < planes.width ? planes.height - y0 : 0;
    T data[kWarp], *element = planes.line (p, y0) + x;
#pragma unroll
    for (int j = 0; j < kWarp; j++)
      data[j] = j < rows ? element[j * planes.row] : T (0);
#pragma unroll
    for (int j = 1; j < kWarp; j++)
      data[j] = T (data[j] + data[j - 1]);
    sums[warp][lane] = data[kWarp - 1];
    __syncthreads ();
    T total;
    const T before = T (carry + sum_of_warps_before (sums, lane, total));
    carry = T (carry + total);
#pragma unroll
    for (int j = 0; j < kWarp; j++)
      if (j < rows)
        element[j * planes.row] = T (data[j] + before);
    __syncthreads ();
  }
}

template <class T>
void scan_rows (const Planes<T> &planes, Stream stream)
{
  scan_row<<<dim3 (divide_up (planes.height, kRowWarps), planes.count), kRowWarps * kWarp, 0,
             stream>>> (planes);
}

template <class T>
void scan_columns (const Planes<T> &planes, Stream stream)
{
  const int warps = std::min (kColumnWarps<T>, divide_up (planes.height, kWarp));
  scan_column<<<dim3 (divide_up (planes.width, kWarp), planes.count), warps * kWarp, 0, stream>>> (
      planes);
}

}  // namespace inthist::cuda
