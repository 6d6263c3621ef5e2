// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The numbers that strip was tuned to. tests/benchmarks/probes/strip_policies.cpp times others
// beside them; what it printed is in docs/measurements/2026-11-23-strip-policy.md. A number without
// a figure was not measured against others.
#pragma once

#include "count_policy.hpp"

namespace inthist::cuda {

// The kernels are compiled with these numbers.
constexpr int kUnitRows = 8;  // Row blocks have a multiple of 8 rows: steps of scan are 8 or 4.
constexpr int kRangeColumns = 2048;  // A range of scan has no more columns.
constexpr int kScanBlocks = 2;       // A processor has registers for so many blocks of scan.

// They take no wider frames: the least device has 64 KiB, and a column takes 4 bytes.
constexpr int kMaxWidth = 7 * kRangeColumns;

struct StripPolicy {
  // A strip has no fewer rows. The workspace is for these.
  int least_rows = 24;
  // A strip has these where blocks are enough. At 640x480x32 24 would gain 2 % in one stream and
  // lose 9 % in two; 112 would lose 4 % and gain 1 %.
  int usual_rows = 56;
  // The blocks of taller strips drift apart, and rows that the last still wants have left L2. 272
  // gains 2 % over 544 at 1920x1080x128; 136 would lose 2 % at 8192x8192x32.
  int most_rows = 272;
  // A strip has no more pixels: 120 rows of the widest frame. This gains 4 % over 5000000 at
  // 8192x8192x32.
  int most_pixels = 1750000;
  int most_rounds = 64;  // Blocks run in no more rounds. This gains 2 % over 1 at 8192x8192x32.
  CountPolicy count = {};
};

}  // namespace inthist::cuda
