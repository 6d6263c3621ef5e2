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

  int n = 1;
  Direction begin[kMost] = {};

  static Sectors of (int n);

  /// Returns the sector of a gradient that points down, or to the right.
  INTHIST_HOST_DEVICE int of_half_turn (int dx, int dy) const
  {
    int sector = 0;
    for (int step = kMostStep; step > 0; step /= 2)
      if (const int later = sector + step;
          later < n && std::int64_t (begin[later].x) * dy >= std::int64_t (begin[later].y) * dx)
        sector = later;
    return sector;
  }

private:
  static constexpr int kMostStep = 128;
};

}  // namespace inthist
