// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The numbers that strip was tuned to. tests/benchmarks/probes/strip_policies.cpp times others
// beside them; what it printed is in docs/measurements/2026-11-23-strip-policy.md.
#pragma once

#include "../inthist.hpp"

namespace inthist::cuda {

// What the kernels are compiled with. The probe does not vary these.
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
  int least_rows = 24;  // of a strip
  int usual_rows = 56;  // of a strip, where there are blocks enough
  // the blocks of taller strips drift apart, and rows that the last still wants have left L2
  int most_rows = 272;
  int most_pixels = 1750000;  // of a strip; 120 rows of the widest frame
  int most_rounds = 64;       // of blocks
  int count_blocks = 4;       // of count for each processor, before cells are joined
};

/// Runs strip with another policy. The workspace has room for strips of 24 rows.
int run_strip (const Job &job, const StripPolicy &policy);

}  // namespace inthist::cuda
