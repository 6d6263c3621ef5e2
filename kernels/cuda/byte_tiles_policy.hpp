// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The numbers that byte-tiles was tuned to, by hand on an H100: no program here times others. A
// time is of a frame of 32 bins, alone and with two in flight; docs/measurements has a page. A
// number without a figure was not measured against others.
#pragma once

#include "count_policy.hpp"

namespace inthist::cuda {

// The kernels are compiled with these numbers.
constexpr int kMaxTileThreads = 512;  // threads of scan that a processor has registers for
// Rows whose pixels are being loaded. At 1920x1080 4 take 33.8 and 25.6 us, 8 take 35.3 and 26.4,
// and 16, of the step at hand alone, took 27 in flight.
constexpr int kRowsAhead = 4;

struct TilesPolicy {
  // The part of a GPU's places that has a block. Strips have few enough rows of tiles for it, but
  // at least least_rows. At 1920x1080 this makes 6 rows, which take 34.1 and 25.7 us, 4 take 40.7
  // and 28.8, and 8 take 40.6 and 26.6.
  float busy = 0.7f;
  int least_rows = 4;  // The workspace is for these. At 640x480 4 take 12.8 and 10 us, 3 take 14.1.
  // At 3840x2160 8 take 130 and 114 us, 6 take 127 and 123, 12 take 141 and 121.
  int most_rows = 8;
  // Tiles go to memory by way of shared memory, where a block has room.
  bool staged = true;
  CountPolicy count = {};
};

}  // namespace inthist::cuda
