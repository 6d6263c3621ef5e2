// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tuned numbers of look-back, which computes summed-area tables. They were tuned by hand on an
// H200 (docs/measurements/2026-11-25-look-back.md); no program here times other values. If no
// times are given, other values were not measured.
#pragma once

#include "../planes.hpp"

namespace inthist::cuda {

/// The size of a tile. In each of a warp's `rows` rows, a lane has `chunks` chunks of neighbouring
/// elements. Registers are limited so that `blocks` blocks fit on a multiprocessor, or as many as
/// the number of threads allows.
struct LookBackTilePolicy {
  int rows, chunks, blocks;
};

/// The two tile sizes that look-back chooses from. Large tiles publish fewer sums, but only tables
/// of at least `many` large tiles keep a GPU busy. With `spread`, large tiles are spread evenly
/// over multiprocessors, even if some have room for more.
struct LookBackPolicy {
  LookBackTilePolicy large, small;
  int many;
  bool spread = false;
};

// The tiles for 8-bit pixels. At 4096x4096 with 4 tables in flight, large tiles take 24.0 us, and
// tiles of 128 x 128 took 30.9. Without `spread`, the 256 large tiles take 38.8 us instead of 28.1
// for one table at a time, and 22.5 instead of 23.5 in flight.
template <class T, class Source>
constexpr LookBackPolicy kLookBackPolicy = {
  .large = { .rows = 32, .chunks = 2, .blocks = 3 },  // 256 x 256
  .small = { .rows = 16, .chunks = 1, .blocks = 5 },  // 128 x 128
  .many = 200,
  .spread = true,
};

/// Every kCheckpoint-th tile of a row or column publishes the sums of all tiles before it, where
/// later tiles stop looking back. At 4096x4096 with 8-bit pixels, 16 gains 10 % over 8.
template <class T>
constexpr int kCheckpoint = 16;

}  // namespace inthist::cuda
