// SPDX-License-Identifier: LGPL-2.1-or-later
//
// brlt-scanrow: the fastest algorithm of Chen et al. 2018 (section IV-B). The block first
// transposes each warp's 32 x 32 register matrix (BRLT). A lane then has 32 neighbours of one row
// and adds them serially, without shuffles. Two passes make the table upright (scan_and_turn.cuh).
//
// Traffic, bytes per u32 element: 4 initialise, 8, 8: 20 (16 if the first pass reads an image). On
// an H200 it is slower than scanrow-scancolumn; scanrow_scancolumn.cu says why.
#include "scan_and_turn.cuh"

namespace inthist {
namespace cuda {
namespace {

struct TransposeThenScan {
  template <class T>
  static __device__ void run (T (&data)[kWarp], T (*matrices)[kWarp][kWarp + 1])
  {
    register_transpose (data, matrices);
#pragma unroll
    for (int j = 1; j < kWarp; j++)
      data[j] = T (data[j] + data[j - 1]);
  }
};

using Algorithm = ScanAndTurn<TransposeThenScan>;

}  // namespace
}  // namespace cuda

extern constinit const Strategy kBrltScanRow = cuda::over_planes<cuda::Algorithm> (
    { .name = "brlt-scanrow",
      .description =
          "CUDA: transpose in registers, scan serially, twice (Chen et al. 2018, IV-B)" });

}  // namespace inthist
