// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstdint>

#include "../host_device.hpp"

namespace inthist {

/// Where the sectors of a half turn begin.
struct Sectors {
  static constexpr int kMost = 180, kBits = 30;
  struct Direction {
    std::int32_t x, y;
  };

  int n = 1, first_step = 0;  // the largest power of 2 below n
  Direction begin[kMost] = {};

  static Sectors of (int n);

  /// Returns the sector of a gradient that points down, or to the right.
  INTHIST_HOST_DEVICE int of_half_turn (int dx, int dy) const
  {
    int sector = 0;
    for (int step = first_step; step > 0; step /= 2) {
      const int later = sector + step < n ? sector + step : sector;
      const auto &[x, y] = begin[later];
      sector = std::int64_t (x) * dy >= std::int64_t (y) * dx ? later : sector;
    }
    return sector;
  }
};

}  // namespace inthist
