// SPDX-License-Identifier: LGPL-2.1-or-later
//
// scanrow-brlt: Chen et al. 2018, section IV-A. It has the steps of brlt-scanrow in reverse order.
// Shuffles scan the 32 rows of a warp's register matrix in parallel; then the block transposes it.
// Shuffles make it slower than brlt-scanrow by the paper's model (section V), and on an H200.
//
// Traffic, bytes per u32 element: 4 initialise, 8, 8: 20 (16 if the first pass reads an image).
#include "scan_and_turn.cuh"

namespace inthist {
namespace cuda {
namespace {

struct ScanThenTranspose {
  template <class T>
  static __device__ void run (T (&data)[kWarp], T (*matrices)[kWarp][kWarp + 1])
  {
#pragma unroll
    for (int j = 0; j < kWarp; j++)
      data[j] = warp_scan (data[j]);
    register_transpose (data, matrices);
  }
};

using Algorithm = ScanAndTurn<ScanThenTranspose>;

}  // namespace
}  // namespace cuda

extern constinit const Strategy kScanRowBrlt = cuda::over_planes<cuda::Algorithm> (
    { .name = "scanrow-brlt",
      .description =
          "CUDA: scan with shuffles, transpose in registers, twice (Chen et al. 2018, IV-A)" });

}  // namespace inthist
