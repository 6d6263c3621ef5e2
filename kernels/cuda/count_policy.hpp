// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The numbers that count was tuned to, as a part of strip: strip_policy.hpp says how. byte-tiles
// takes them as they are. A number without a figure was not measured against others.
#pragma once

namespace inthist::cuda {

// The kernels are compiled with these numbers.
constexpr int kCountWarps = 16;        // A block has so many warps.
constexpr int kCountColumns = 128;     // A block has so many columns: a lane has four.
constexpr int kCountBins = 64;         // A block has so many bins: 16 KiB of counters.
constexpr int kMaxRowBlockRows = 136;  // A row block has no more rows: a warp loads 9.

// The kernels take no more than this.
constexpr int kMaxRowBlocks = 65535;   // A grid has no more blocks in y.
constexpr int kMaxJoinedRows = 65535;  // A counter holds no more.

struct CountPolicy {
  // A processor has so many blocks before row blocks are joined. Joining them gains 10 % with strip
  // at 8192x8192x32.
  int blocks = 4;
};

}  // namespace inthist::cuda
