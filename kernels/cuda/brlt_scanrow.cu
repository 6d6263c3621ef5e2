// SPDX-License-Identifier: LGPL-2.1-or-later
//
// brlt-scanrow: Chen et al. 2018, section IV-B, their fastest. A block takes 32 rows, and each of its warps a matrix of 32 x 32 in registers. Transposed in the block (BRLT), a lane
// has 32 neighbours of one row and adds them serially, with no shuffles; the sums of the warps are added up through shared memory; and the matrix is stored as it now lies,
// transposed. The same kernel once more makes the table, upright.
//
// Traffic, bytes per u32 element: 4 initialise, 8, 8: 20 (16 where the first pass reads an image).
#include "device/brlt.cuh"

namespace inthist {
namespace cuda {
namespace {

template <class T>
__global__ void
__launch_bounds__ (kWarp *kChenWarps<T>)
brlt_scan_row (Planes<T> in, Planes<T> out)
{
  __shared__ T matrices[kBatch<T>][kWarp][kWarp + 1];
  __shared__ T sums[kChenWarps<T>][kWarp];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, y0 = blockIdx.x * kWarp, p = blockIdx.y;
  T carry = T (0);  // of row y0 + lane
  for (int first = 0; first < in.width; first += blockDim.x) {
    const int x0 = first + warp * kWarp;
    T data[kWarp];
#pragma unroll
    for (int j = 0; j < kWarp; j++)
      data[j] = y0 + j < in.height && x0 + lane < in.width ? in.line (p, y0 + j)[x0 + lane] : T (0);
    register_transpose (data, matrices);
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
      if (x0 + j < in.width && y0 + lane < in.height)
        out.line (p, x0 + j)[y0 + lane] = T (data[j] + before);
    __syncthreads ();
  }
}

struct BrltScanRow {
  template <class T>
  static std::size_t workspace_bytes (const Planes<T> &out)
  {
    return out.transposed (nullptr).bytes ();
  }

  template <class T>
  static void pass (const Planes<T> &in, const Planes<T> &out, Stream stream)
  {
    brlt_scan_row<<<dim3 (divide_up (in.height, kWarp), in.count), chen_threads<T> (in.width), 0, stream>>> (in, out);
  }

  template <class T, class Source>
  static int run (const Planes<T> &out, Source source, void *workspace, Stream stream)
  {
    const Planes<T> turned = out.transposed (workspace);
    initialise (out, source, stream);
    pass (out, turned, stream);
    pass (turned, out, stream);
    return cudaGetLastError ();
  }
};

}  // namespace
}  // namespace cuda

extern const Strategy kBrltScanRow;
const Strategy kBrltScanRow = { .name = "brlt-scanrow",
                                .description = "CUDA: transpose in registers, scan serially, twice (Chen et al. 2018, IV-B)",
                                .device = Device::cuda,
                                .workspace_bytes = cuda::Histogram<cuda::BrltScanRow>::workspace_bytes,
                                .run = cuda::Histogram<cuda::BrltScanRow>::run };

}  // namespace inthist
