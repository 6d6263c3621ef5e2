// SPDX-License-Identifier: LGPL-2.1-or-later
//
// cw-sts: cross-weave scan-transpose-scan of Poostchi et al. 2017, section 3.3 and Algorithm 3. It
// launches the kernels of cw-b once for all lines of all bins: scan, 3-D transpose, scan.
//
// Traffic, bytes per u32 element: 4 initialise, 8 scan, 8 transpose, 8 scan: 28. The scan leaves
// most threads of a block idle in most of its steps (their eq. 4). The planes are initialised
// transposed, so that the result, which the paper leaves transposed, is upright. It is slower than
// cw-tis on an H200, as in the paper, but not for a single plane.
#include "prescan_lines.cuh"

namespace inthist {
namespace cuda {
namespace {

struct CwSts : Transposing {
  template <class T>
  static void scan (const Planes<T> &planes, const Job &job)
  {
    job.stage ("scan");
    launch_prescan (planes, 0, planes.count, 0, planes.height, job);
  }

  template <class T, class Source>
  static int run (const Planes<T> &out, Source source, const Job &job)
  {
    const Planes<T> turned = out.transposed (job.workspace);
    initialise_transposed (turned, source, job);
    scan (turned, job);
    transpose (turned, out, job);
    scan (out, job);
    return cudaGetLastError ();
  }
};

}  // namespace
}  // namespace cuda

extern constinit const Strategy kCwSts = cuda::over_planes<cuda::CwSts> (
    { .name = "cw-sts",
      .description =
          "CUDA: scan, 3-D transpose, scan, a launch each (Poostchi et al. 2017, Algorithm 3)",
      .threads = cuda::kPrescanThreads });

}  // namespace inthist
