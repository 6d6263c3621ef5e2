// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tuned numbers of the count kernel, which counts the pixels of each bin in columns of a frame.
// They were tuned for strip (strip_policy.hpp says how), and byte-tiles uses them, too. If no
// figures are given, other values were not measured.
#pragma once

namespace inthist::cuda {

constexpr int kCountWarps = 16;        // warps of a block
constexpr int kCountColumns = 128;     // columns that a block counts, four for each lane
constexpr int kCountBins = 64;         // bins that a block counts, with 16 KiB of counters
constexpr int kMaxRowBlockRows = 136;  // most rows that are counted in one step, 9 in a warp

constexpr int kMaxRowBlocks = 65535;   // the most blocks of a CUDA grid in y
constexpr int kMaxJoinedRows = 65535;  // the highest count that a 16-bit counter holds

struct CountPolicy {
  // How many blocks of the count kernel each multiprocessor should get. If a frame has more, blocks
  // are joined to fewer that count more rows each: strip gains 10 % at 8192x8192x32.
  int blocks = 4;
};

}  // namespace inthist::cuda
