// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstdint>

#include "quotient.hpp"

namespace inthist {

/// The directions in which the sectors of a half turn begin, in fixed point.
struct Sectors {
  static constexpr int kMax = 180, kBits = 30;
  struct Direction {
    std::int32_t x, y;
  };

  int n;
  Direction begin[kMax + 1];  // and the last one's end

  static Sectors of (int n);

  /// Returns the sector of a gradient that points down, or to the right. An angle with an error
  /// below half a sector gives the nearest border, whose side then gives the sector exactly.
  HOST_DEVICE int of_half_turn (int dx, int dy) const
  {
    // An approximation of atan, in half turns, with an error of at most 0.22 degrees (Rajan, Wang,
    // Inkol and Joyal 2006, eq. 9).
    const float width = float (dx < 0 ? -dx : dx), height = float (dy);
    const bool is_steep = height > width;
    const float slope = is_steep ? quotient (width, height) : quotient (height, width),
                angle = slope * (0.3369f - 0.0869f * slope),
                quarter = is_steep ? 0.5f - angle : angle;
    const int nearest = int ((dx < 0 ? 1.0f - quarter : quarter) * float (n) + 0.5f);
    const auto &[x, y] = begin[nearest];
    return std::int64_t (x) * dy >= std::int64_t (y) * dx ? nearest : nearest - 1;
  }
};

}  // namespace inthist
