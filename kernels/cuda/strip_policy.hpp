// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tuned numbers of strip. tests/benchmarks/probes/strip_policies.cpp compares those of
// StripPolicy with others (docs/measurements/2026-11-23-strip-policy.md), and
// 2026-11-30-wide-rows.md there has those of ScanPolicy. Those without figures were not compared.
#pragma once

#include "count_policy.hpp"

namespace inthist::cuda {

constexpr int kUnitRows = 8;  // the scan kernel goes down 4 or 8 rows at a time

// The widest frame. A column needs 4 bytes of shared memory, and the smallest device has 64 KiB.
constexpr int kMaxWidth = 14336;

/// The largest block of the scan kernel: how many columns it computes at once, and how many such
/// blocks fit in a multiprocessor's registers.
struct ScanPolicy {
  int columns, blocks;
};

// A wider block writes longer parts of a row at once. At 3840x2160x32, 4096 columns gain 2 to 5 %
// over 2048 with u32 and 4 to 12 % with u16; at 8192x8192x32 they gain 1 to 2 %. With one
// frame in flight, widths of 7680, of 2560 (u32) and of 5120 (u16) lose 2 %. With weights 4096
// columns would lose 1 % at 1920x1080.
constexpr ScanPolicy kScanOfOnes = { .columns = 4096, .blocks = 1 };
constexpr ScanPolicy kScanOfWeights = { .columns = 2048, .blocks = 2 };

struct StripPolicy {
  // the fewest rows of a strip; the workspace is large enough for such strips
  int least_rows = 24;
  // The rows of a strip if such strips give enough blocks. At 640x480x32, 24 rows would gain 2 %
  // with one stream and lose 9 % with two; 112 rows would lose 4 % with one and gain 1 % with two.
  int usual_rows = 56;
  // The most rows of a strip. The blocks of taller strips drift apart, and rows leave L2 before the
  // last is done. 272 gains 2 % over 544 at 1920x1080x128, and over 136 at 8192x8192x32.
  int most_rows = 272;
  // The most pixels of a strip. 1750000 gains 4 % over 5000000 at 8192x8192x32.
  int most_pixels = 1750000;
  int most_rounds = 64;  // most rounds of blocks on the GPU; gains 2 % over 1 at 8192x8192x32
  CountPolicy count = {};
};

}  // namespace inthist::cuda
