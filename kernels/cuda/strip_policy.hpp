// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tuned numbers of strip. tests/benchmarks/probes/strip_policies.cpp compares them with other
// values; the results are in docs/measurements/2026-11-23-strip-policy.md. If a comment gives no
// figures, other values were not measured.
#pragma once

#include "count_policy.hpp"

namespace inthist::cuda {

// These numbers are constants, with which the kernels are compiled.
constexpr int kUnitRows = 8;  // Row blocks have a multiple of 8 rows: steps of scan are 8 or 4.
constexpr int kRangeColumns = 2048;  // the most columns of a range of scan
constexpr int kScanBlocks = 2;       // blocks of scan whose registers fit on a multiprocessor

// The widest frame. A column needs 4 bytes of shared memory, and the smallest device has 64 KiB.
constexpr int kMaxWidth = 7 * kRangeColumns;

struct StripPolicy {
  // The fewest rows of a strip. The workspace is large enough for strips of these rows.
  int least_rows = 24;
  // The rows of a strip if strips of this size give enough blocks. At 640x480x32, 24 rows would
  // gain 2 % with one stream and lose 9 % with two; 112 rows would lose 4 % with one and gain 1 %
  // with two.
  int usual_rows = 56;
  // The most rows of a strip. The blocks of taller strips drift apart: rows leave L2 before the
  // last block reads them. 272 gains 2 % over 544 at 1920x1080x128; 136 would lose 2 % at
  // 8192x8192x32.
  int most_rows = 272;
  // The most pixels of a strip: 120 rows of the widest frame. This gains 4 % over 5000000 at
  // 8192x8192x32.
  int most_pixels = 1750000;
  int most_rounds = 64;  // of blocks on the GPU. This gains 2 % over 1 round at 8192x8192x32.
  CountPolicy count = {};
};

}  // namespace inthist::cuda
