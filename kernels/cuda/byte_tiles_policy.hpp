// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tuned numbers of byte-tiles, tuned by hand on an H100; no program here times other values. Of
// two times, the first is for one frame of 32 bins at a time, the second with two in flight. Where
// no times are given, other values were not measured.
#pragma once

#include "count_policy.hpp"

namespace inthist::cuda {

constexpr int kMaxTileThreads = 512;  // scan-kernel threads whose registers fit on a multiprocessor
// How many rows of pixels the scan kernel loads ahead. At 1920x1080, with one frame at a time and
// two in flight, 4 rows take 33.8 and 25.6 us, and 8 take 35.3 and 26.4.
constexpr int kRowsAhead = 4;

struct TilesPolicy {
  // The share of the GPU's places for blocks that strips should fill: they get few enough rows of
  // tiles, but at least least_rows. At 1920x1080, with one frame at a time and two in flight, this
  // gives 6 rows, which take 34.1 and 25.7 us; 4 take 40.7 and 28.8, and 8 take 40.6 and 26.6.
  float busy = 0.7f;
  // The fewest rows of tiles in a strip; the workspace is large enough for such strips. At 640x480,
  // 4 rows take 12.8 us with one frame at a time and 10 with two in flight, and 3 take 14.1 with
  // one.
  int least_rows = 4;
  // The most rows of tiles in a strip. At 3840x2160, with one frame at a time and two in flight, 8
  // rows take 130 and 114 us, 6 take 127 and 123, and 12 take 141 and 121.
  int most_rows = 8;
  // whether tiles go to global memory by way of shared memory, if a block can have enough of it
  bool staged = true;
  CountPolicy count = {};
};

}  // namespace inthist::cuda
