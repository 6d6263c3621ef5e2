// SPDX-License-Identifier: LGPL-2.1-or-later
//
// ScanRow and ScanColumn of Chen et al. 2018, section IV-C, in place.
//
// Rows: a warp takes a row, 32 elements at a time through shuffles, and carries the last sum on; 1024 elements are in registers at once. Columns: a block takes 32 columns, each of its
// warps 32 rows of them in registers, a lane adds its column serially, and the sums of the warps are added up through shared memory.
#pragma once

#include "brlt.cuh"

namespace inthist::cuda {

template <class T>
__global__ void
__launch_bounds__ (kWarp *kChenWarps<T>)
scan_row (Planes<T> planes)
{
  const int lane = threadIdx.x % kWarp, y = blockIdx.x * (blockDim.x / kWarp) + threadIdx.x / kWarp;
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
      carry = T (__shfl_sync (~0u, data[j], kWarp - 1));
      const int x = first + j * kWarp + lane;
      if (x < planes.width)
        line[x] = data[j];
    }
  }
}

template <class T>
__global__ void
__launch_bounds__ (kWarp *kChenWarps<T>)
scan_column (Planes<T> planes)
{
  __shared__ T sums[kChenWarps<T>][kWarp];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, x = blockIdx.x * kWarp + lane, p = blockIdx.y;
  T carry = T (0);
  for (int first = 0; first < planes.height; first += blockDim.x) {
    const int y0 = first + warp * kWarp;
    T data[kWarp];
#pragma unroll
    for (int j = 0; j < kWarp; j++)
      data[j] = x < planes.width && y0 + j < planes.height ? planes.line (p, y0 + j)[x] : T (0);
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
      if (x < planes.width && y0 + j < planes.height)
        planes.line (p, y0 + j)[x] = T (data[j] + before);
    __syncthreads ();
  }
}

/// Both: inclusive prefix sums of every plane in two dimensions.
template <class T>
void
scan_rows_and_columns (const Planes<T> &planes, Stream stream)
{
  const int warps = 4;  // rows are independent: small blocks fill the device evenly
  scan_row<<<dim3 (divide_up (planes.height, warps), planes.count), warps * kWarp, 0, stream>>> (planes);
  scan_column<<<dim3 (divide_up (planes.width, kWarp), planes.count), chen_threads<T> (planes.height), 0, stream>>> (planes);
}

}  // namespace inthist::cuda
