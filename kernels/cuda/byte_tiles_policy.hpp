// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tuned numbers of byte-tiles. They were tuned by hand on an H100; no program here times other
// values. A pair of times is for one frame of 32 bins at a time, and with two in flight;
// docs/measurements has a page. A number without a figure was not measured against others.
#pragma once

#include "count_policy.hpp"

namespace inthist::cuda {

// The kernels are compiled with these numbers.
constexpr int kMaxTileThreads = 512;  // threads of scan that a processor has registers for
// Rows whose pixels are being loaded. At 1920x1080 4 take 33.8 and 25.6 us, 8 take 35.3 and 26.4,
// and 16, of only the current step, took 27 in flight.
constexpr int kRowsAhead = 4;

struct TilesPolicy {
  // The share of a GPU's places for blocks that have a block. Strips have so few rows of tiles that
  // this share is reached, but at least least_rows. At 1920x1080 this makes 6 rows, which take 34.1
  // and 25.7 us, 4 take 40.7 and 28.8, and 8 take 40.6 and 26.6.
  float busy = 0.7f;
  // The workspace has room for strips of this size. At 640x480 4 take 12.8 and 10 us, 3 take 14.1.
  int least_rows = 4;
  // At 3840x2160 8 take 130 and 114 us, 6 take 127 and 123, 12 take 141 and 121.
  int most_rows = 8;
  // Tiles go to memory by way of shared memory, if a block has room.
  bool staged = true;
  CountPolicy count = {};
};

}  // namespace inthist::cuda
