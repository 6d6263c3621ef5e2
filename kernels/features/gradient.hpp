// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The orientation of luma's gradient, computed with the kernel [-1 0 1] like in HOG (Dalal and
// Triggs 2005). A half turn is divided into n sectors from 0 degrees on: bin b has the angles from
// b * 180/n to just before (b + 1) * 180/n, clockwise in the picture as y goes down. For a
// direction, which is an angle in a full turn, each bin is two of 2n sectors.
//
// Sectors are found without angles. A sector begins at a direction in fixed point, and the sign of
// a cross product tells whether the gradient lies past this direction. A gradient of 8 bits that
// does not lie on a border is further from it than the error of the fixed point, so every device
// gives the same sector.
//
// Soft bins, which share pixels, need the angle itself (soft.hpp), from an integer polynomial.
#pragma once

#include "pixel.hpp"

namespace inthist {

/// Returns the angle of a gradient that is not zero. The unit is 1/2^17 of a half turn, so the
/// result is 0 to 2^18 - 1. The error is less than 3 units.
HOST_DEVICE inline int angle_of_gradient (int dx, int dy)
{
  constexpr int kHalfTurn = 1 << 17, kBits = 15;
  const bool turned = dy < 0 || (dy == 0 && dx < 0);
  const int x = dx < 0 ? -dx : dx, y = dy < 0 ? -dy : dy;
  const int most = x > y ? x : y, least = x > y ? y : x;
  // Every device rounds the quotient of two floats alike, and such small numbers are exact floats.
  const int t = int (float (least << kBits) / float (most) + 0.5f), square = (t * t) >> kBits;
  // coefficients of atan (t) / t (Abramowitz and Stegun 1964, 4.4.49), fitted to all values of t
  constexpr int kTerms[] = { 872, -3553, 7516, -13781, 41716 };
  int sum = 0;
  for (const int term : kTerms)
    sum = ((sum * square) >> kBits) + term;
  const int steep = (sum * t + (1 << (kBits - 1))) >> kBits,
            quarter = y > x ? kHalfTurn / 2 - steep : steep;
  return ((dx < 0) != turned ? kHalfTurn - quarter : quarter) + (turned ? kHalfTurn : 0);
}

template <bool kSigned>
struct Gradient {
  static constexpr Reads kReads = Reads::luma_3x3;

  /// Returns where a gradient's angle lies on the axis of `bins` bins, in units of 1/256 of a bin.
  HOST_DEVICE static int position_of (const Pixel &pixel, int bins)
  {
    constexpr int kHalfTurn = 1 << 17;
    const int angle = angle_of_gradient (pixel.dx (), pixel.dy ());
    return kSigned ? (angle * bins) >> 10 : ((angle & (kHalfTurn - 1)) * bins) >> 9;
  }

  HOST_DEVICE static std::uint8_t value_of (const Pixel &pixel)
  {
    const int dx = pixel.dx (), dy = pixel.dy ();
    if (dx == 0 && dy == 0)
      return kNoValue;
    const Sectors &sectors = pixel.sectors;
    const bool turned = dy < 0 || (dy == 0 && dx < 0);
    const int sector = turned ? sectors.of_half_turn (-dx, -dy) : sectors.of_half_turn (dx, dy);
    return std::uint8_t (kSigned ? (sector + (turned ? sectors.n : 0)) / 2 : sector);
  }
};

}  // namespace inthist
