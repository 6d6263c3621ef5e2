// SPDX-License-Identifier: LGPL-2.1-or-later
//
// scanrow-scancolumn: Chen et al. 2018, section IV-C. Rows with shuffles, then columns serially, both cached in registers (device/scan_rows_and_columns.cuh). No transpose at all.
//
// Traffic, bytes per u32 element: 4 initialise, 8, 8: 20 (16 where the first pass reads an image).
#include "device/scan_rows_and_columns.cuh"

namespace inthist {
namespace cuda {
namespace {

struct ScanRowScanColumn {
  template <class T>
  static std::size_t workspace_bytes (const Planes<T> &)
  {
    return 0;
  }

  template <class T, class Source>
  static int run (const Planes<T> &out, Source source, void *, Stream stream)
  {
    initialise (out, source, stream);
    scan_rows_and_columns (out, stream);
    return cudaGetLastError ();
  }
};

}  // namespace
}  // namespace cuda

extern const Strategy kScanRowScanColumn;
const Strategy kScanRowScanColumn = { .name = "scanrow-scancolumn",
                                      .description =
                                          "CUDA: rows with shuffles, then columns serially, all in registers (Chen et al. 2018, IV-C)",
                                      .device = Device::cuda,
                                      .workspace_bytes = cuda::Histogram<cuda::ScanRowScanColumn>::workspace_bytes,
                                      .run = cuda::Histogram<cuda::ScanRowScanColumn>::run };

}  // namespace inthist
