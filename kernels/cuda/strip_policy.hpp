// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The numbers that strip was tuned to. tests/benchmarks/probes/strip_policies.cpp times others
// beside them; what it printed is in docs/measurements/2026-11-23-strip-policy.md.
#pragma once

#include "../inthist.hpp"

namespace inthist::cuda {

// What the kernels are compiled with: not measured apart
constexpr int kStepRows = 8;         // of a step of march, a bit of a byte each
constexpr int kRangeColumns = 2048;  // of a range of march, at most: two blocks a processor
constexpr int kCountWarps = 16;      // of a block of count
constexpr int kMostCell = 136;       // rows that a block of count takes at once: 9 loads a warp
constexpr int kSegment = 128;        // columns of a block of count: four a lane
constexpr int kCountBins = 64;       // of a block of count: 16 KiB of counters

// what they can do
constexpr int kMostWidth = 7 * kRangeColumns;  // 4 bytes each of the least device's 64 KiB
constexpr int kMostCells = 65535;              // of a grid
constexpr int kMostJoinedRows = 65535;         // what a counter of count holds

struct StripPolicy {
  int least_rows = 24;  // of a strip; not measured apart, as the workspace is for these
  // Of a strip, where there are blocks enough. At 640x480x32 24 would gain 2 % in one stream and
  // lose 9 % in two; 112 would lose 4 % and gain 1 %.
  int usual_rows = 56;
  // The blocks of taller strips drift apart, and rows that the last still wants have left L2. Gains
  // 2 % over 544 at 1920x1080x128; 136 would lose 2 % at 8192x8192x32.
  int most_rows = 272;
  // Of a strip; 120 rows of the widest frame. Gains 4 % over 5000000 at 8192x8192x32.
  int most_pixels = 1750000;
  int most_rounds = 64;  // of blocks; gains 2 % over 1 at 8192x8192x32
  // Of count for each processor, before cells are joined, which gains 10 % at 8192x8192x32.
  int count_blocks = 4;
};

/// Runs strip with another policy. The workspace has room for strips of 24 rows.
int run_strip (const Job &job, const StripPolicy &policy);

}  // namespace inthist::cuda
