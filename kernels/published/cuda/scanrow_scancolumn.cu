// SPDX-License-Identifier: LGPL-2.1-or-later
//
// scanrow-scancolumn: Chen et al. 2018, section IV-C. It scans rows with shuffles, then columns
// serially, both cached in registers (scan_rows_and_columns.cuh), with no transpose at all.
//
// Traffic, bytes per u32 element: 4 initialise, 8, 8: 20 (16 if the first pass reads an image). On
// an H200 it is the fastest of the published algorithms. On the paper's P100 and V100 brlt-scanrow
// is faster, because it has fewer shuffles. On an H200 memory decides, and each stage of
// brlt-scanrow takes longer, because its warps store to 32 rows at a time.
#include "scan_rows_and_columns.cuh"

namespace inthist {
namespace cuda {
namespace {

struct ScanRowScanColumn : InPlace {
  template <class T, class Source>
  static int run (const Planes<T> &out, Source source, const Job &job)
  {
    initialise (out, source, job);
    job.stage ("rows");
    scan_rows (out, job.stream);
    job.stage ("columns");
    scan_columns (out, job.stream);
    return cudaGetLastError ();
  }
};

}  // namespace
}  // namespace cuda

extern constinit const Strategy kScanRowScanColumn =
    cuda::over_planes<cuda::ScanRowScanColumn, true> (
        { .name = "scanrow-scancolumn",
          .description = "CUDA: rows with shuffles, then columns serially, all in registers (Chen "
                         "et al. 2018, IV-C)" });

}  // namespace inthist
