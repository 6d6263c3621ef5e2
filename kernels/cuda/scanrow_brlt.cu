// SPDX-License-Identifier: LGPL-2.1-or-later
//
// scanrow-brlt: Chen et al. 2018, section IV-A. As brlt-scanrow, the other way round: the 32 rows of a warp's register matrix are scanned in parallel with shuffles, and then
// the matrix is transposed in the block and stored. Twice. Shuffles make it slower than brlt-scanrow by the paper's model (section V).
//
// Traffic, bytes per u32 element: 4 initialise, 8, 8: 20 (16 where the first pass reads an image).
#include "device/brlt.cuh"

namespace inthist {
namespace cuda {
namespace {

template <class T>
__global__ void
__launch_bounds__ (kWarp *kChenWarps<T>)
scan_row_brlt (Planes<T> in, Planes<T> out)
{
  __shared__ T matrices[kBatch<T>][kWarp][kWarp + 1];
  __shared__ T sums[kChenWarps<T>][kWarp];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, y0 = blockIdx.x * kWarp, p = blockIdx.y;
  T carry = T (0);  // of row y0 + lane
  for (int first = 0; first < in.width; first += blockDim.x) {
    const int x0 = first + warp * kWarp;
    T data[kWarp];
#pragma unroll
    for (int j = 0; j < kWarp; j++) {
      data[j] = warp_scan (y0 + j < in.height && x0 + lane < in.width ? in.line (p, y0 + j)[x0 + lane] : T (0));
      if (lane == kWarp - 1)
        sums[warp][j] = data[j];
    }
    register_transpose (data, matrices);  // and sums is complete
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

struct ScanRowBrlt {
  template <class T>
  static std::size_t workspace_bytes (const Planes<T> &out)
  {
    return out.transposed (nullptr).bytes ();
  }

  template <class T>
  static void pass (const Planes<T> &in, const Planes<T> &out, Stream stream)
  {
    scan_row_brlt<<<dim3 (divide_up (in.height, kWarp), in.count), chen_threads<T> (in.width), 0, stream>>> (in, out);
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

extern const Strategy kScanRowBrlt;
const Strategy kScanRowBrlt = { .name = "scanrow-brlt",
                                .description = "CUDA: scan with shuffles, transpose in registers, twice (Chen et al. 2018, IV-A)",
                                .device = Device::cuda,
                                .workspace_bytes = cuda::Histogram<cuda::ScanRowBrlt>::workspace_bytes,
                                .run = cuda::Histogram<cuda::ScanRowBrlt>::run };

}  // namespace inthist
