// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The orientation of luma's gradient by [-1 0 1], as detectors count it (HOG; Dalal and Triggs
// 2005). A half turn is divided into n sectors from 0 degrees on: bin b is of angles from b * 180/n
// to before (b + 1) * 180/n, clockwise in the picture as y goes down. Of a direction, which goes
// all around, a bin is two of 2n sectors.
//
// No angle is computed. A sector begins at a direction in fixed point, and the sign of a cross
// product tells whether the gradient lies behind it. Gradients of 8 bits differ by more from any
// border that they do not lie on than the fixed point is wrong, so that every device agrees.
#pragma once

#include "pixel.hpp"

namespace inthist {

template <bool kSigned>
struct Gradient {
  static constexpr Reads kReads = Reads::luma_3x3;

  INTHIST_HOST_DEVICE static std::uint8_t value_of (const Pixel &pixel)
  {
    const int dx = pixel.luma[1][2] - pixel.luma[1][0], dy = pixel.luma[2][1] - pixel.luma[0][1];
    if (dx == 0 && dy == 0)
      return kNoValue;
    const Sectors &sectors = pixel.sectors;
    const bool turned = dy < 0 || (dy == 0 && dx < 0);
    const int sector = turned ? sectors.of_half_turn (-dx, -dy) : sectors.of_half_turn (dx, dy);
    return std::uint8_t (kSigned ? (sector + (turned ? sectors.n : 0)) / 2 : sector);
  }
};

}  // namespace inthist
