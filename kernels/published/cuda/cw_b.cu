// SPDX-License-Identifier: LGPL-2.1-or-later
//
// cw-b: the cross-weave baseline of Poostchi et al. 2017, section 3.2 and Algorithm 2. It scans
// each row, transposes each bin and scans each column, with the kernels of the CUDA SDK. Each row,
// each column and each transpose of a bin is a launch: bins x (width + height + 1) launches.
//
// Traffic, bytes per u32 element: 4 initialise, 8 scan, 8 transpose, 8 scan: 28. But the launches
// take the time, because each works on one line: on an H200, a thousand times that of cw-sts. The
// planes are initialised transposed, so that the result, which the paper leaves transposed, is
// upright. For this reason columns are scanned before rows.
#include "prescan_lines.cuh"

namespace inthist {
namespace cuda {
namespace {

struct CwB : Transposing {
  template <class T>
  static void scan (const Planes<T> &planes, const Job &job)
  {
    job.stage ("scan");
    for (int p = 0; p < planes.count; p++)
      for (int y = 0; y < planes.height; y++)
        launch_prescan (planes, p, 1, y, 1, job);
  }

  template <class T, class Source>
  static int run (const Planes<T> &out, Source source, const Job &job)
  {
    const Planes<T> turned = out.transposed (job.workspace);
    initialise_transposed (turned, source, job);
    scan (turned, job);
    for (int p = 0; p < out.count; p++)
      transpose (turned.one (p), out.one (p), job);
    scan (out, job);
    return cudaGetLastError ();
  }
};

/// Excludes frames that need more than a million kernel launches, because each takes microseconds.
bool supports (const Shape &shape, const Tuning &)
{
  return std::int64_t (shape.bins) * (shape.width + shape.height) <= 1'000'000;
}

}  // namespace
}  // namespace cuda

extern constinit const Strategy kCwB = cuda::over_planes<cuda::CwB> (
    { .name = "cw-b",
      .description =
          "CUDA: one scan launch a line, one transpose a bin (Poostchi et al. 2017, Algorithm 2)",
      .supports = cuda::supports,
      .limit = "planes x (width + height) up to 1,000,000",
      .threads = cuda::kPrescanThreads,
      .slow = true });

}  // namespace inthist
