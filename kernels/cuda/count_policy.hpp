// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tuned numbers of the count kernel, for strip; strip_policy.hpp says how they were tuned.
// byte-tiles uses the same numbers, which were not tuned for it. If a comment gives no figures,
// other values were not measured.
#pragma once

namespace inthist::cuda {

// These numbers are constants, with which the kernels are compiled.
constexpr int kCountWarps = 16;        // warps of a block
constexpr int kCountColumns = 128;     // columns of a block: four for each lane
constexpr int kCountBins = 64;         // bins of a block: 16 KiB of counters
constexpr int kMaxRowBlockRows = 136;  // the most rows of a row block: a warp loads 9 of them

// Limits of the hardware and of 16-bit counters.
constexpr int kMaxRowBlocks = 65535;   // the most blocks of a CUDA grid in y
constexpr int kMaxJoinedRows = 65535;  // the highest count that a 16-bit counter holds

struct CountPolicy {
  // The wanted number of CUDA blocks on each multiprocessor. If a frame has more, row blocks are
  // joined, which makes strip 10 % faster at 8192x8192x32.
  int blocks = 4;
};

}  // namespace inthist::cuda
