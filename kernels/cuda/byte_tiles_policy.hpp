// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tuned numbers of byte-tiles. They were tuned by hand on an H100; no program here times other
// values. In a pair of times, the first is for one frame of 32 bins at a time, and the second is
// with two frames in flight; docs/measurements has a page. If a comment gives no times, other
// values were not measured.
#pragma once

#include "count_policy.hpp"

namespace inthist::cuda {

// These numbers are constants, with which the kernels are compiled.
constexpr int kMaxTileThreads = 512;  // threads of scan whose registers fit on a multiprocessor
// The number of rows whose pixels are loaded ahead. At 1920x1080, 4 rows take 33.8 and 25.6 us, and
// 8 take 35.3 and 26.4. With 16, all rows of the current step and none of the next, two frames in
// flight took 27.
constexpr int kRowsAhead = 4;

struct TilesPolicy {
  // The share of a GPU's room for blocks that is to be used. Strips have so few rows of tiles that
  // this share is reached, but at least least_rows. At 1920x1080 strips get 6 rows, which take 34.1
  // and 25.7 us; 4 rows take 40.7 and 28.8, and 8 take 40.6 and 26.6.
  float busy = 0.7f;
  // The fewest rows of tiles in a strip; the workspace has room for such strips. At 640x480, 4 rows
  // take 12.8 and 10 us, and 3 take 14.1 us for one frame at a time.
  int least_rows = 4;
  // The most rows of tiles in a strip. At 3840x2160, one frame at a time and two in flight, 8 rows
  // take 130 and 114 us, 6 take 127 and 123, and 12 take 141 and 121.
  int most_rows = 8;
  // Tiles go to memory by way of shared memory, if a block has room.
  bool staged = true;
  CountPolicy count = {};
};

}  // namespace inthist::cuda
