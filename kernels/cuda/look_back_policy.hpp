// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tuned numbers of look-back. They were tuned by hand on an H200; no program here times other
// values. Numbers that were compared with others are in docs/measurements/2026-11-25-look-back.md.
// If a comment gives no times, other values were not measured.
#pragma once

#include "../planes.hpp"

namespace inthist::cuda {

/// The size of a tile. A warp has `rows` rows, and a lane has `chunks` chunks of neighbouring
/// elements of each row. The registers of a multiprocessor suffice for `blocks` blocks, or for as
/// many as the number of threads allows.
struct LookBackTilePolicy {
  int rows, chunks, blocks;
};

/// The tiles of a table. Large tiles publish less, but only tables of at least `many` large tiles
/// keep a GPU busy. `spread`: large tiles are spread evenly, even over multiprocessors that have
/// room for more.
struct LookBackPolicy {
  LookBackTilePolicy large, small;
  int many;
  bool spread = false;
};

// 8-bit pixels. At 4096x4096, 4 in flight, large tiles take 24.0 us, and tiles of 128 x 128 took
// 30.9. Without `spread`, the 256 tiles of 4096x4096 take 38.8 us instead of 28.1 for one table at
// a time, and 22.5 instead of 23.5 in flight.
template <class T, class Source>
constexpr LookBackPolicy kLookBackPolicy = {
  .large = { .rows = 32, .chunks = 2, .blocks = 3 },  // 256 x 256
  .small = { .rows = 16, .chunks = 1, .blocks = 5 },  // 128 x 128
  .many = 200,
  .spread = true,
};

/// Every kCheckpoint-th tile is a checkpoint. At 4096x4096, 16 gains 10 % over 8 for 8-bit pixels,
/// with one table at a time.
template <class T>
constexpr int kCheckpoint = 16;

}  // namespace inthist::cuda
