// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Weights: a pixel may add another number than 1 to its bin. A weight may be shared by the two bins
// whose middles the pixel's value lies between, so that a small change of the value changes the
// histogram only a little (the votes of HOG; Dalal and Triggs 2005). Weights are integers, and are
// the same on every device.
//
//   one       1; if two bins share it, 256 parts of 1
//   gradient  eight times the length of luma's gradient by [-1 0 1], rounded: 0 to 2885
#pragma once

#include <cmath>
#include <cstdint>

#include "../host_device.hpp"

namespace inthist {

enum class Weight : std::uint8_t { one, gradient };

/// A pixel of Content::weights: its bin, and what it adds to this bin and to the next bin. After
/// the last bin comes the first.
struct WeightedPixel {
  static constexpr int kMax = 4095;  // the largest weight of a pixel, for both bins together

  std::uint32_t word = 0;

  HOST_DEVICE static WeightedPixel of (int bin, int to_bin, int to_next)
  {
    return { std::uint32_t (bin) | std::uint32_t (to_bin) << 8 | std::uint32_t (to_next) << 20 };
  }
  HOST_DEVICE int bin () const { return int (word & 255); }
  HOST_DEVICE std::uint32_t to_bin () const { return word >> 8 & kMax; }
  HOST_DEVICE std::uint32_t to_next () const { return word >> 20; }
  HOST_DEVICE std::uint32_t to (int b, int bins) const
  {
    const int before = b == 0 ? bins - 1 : b - 1;
    return (bin () == b ? to_bin () : 0) + (bin () == before ? to_next () : 0);
  }
};

/// Returns the integer that stands for a weight of 1.
HOST_DEVICE constexpr int unit_of (Weight weight, bool soft)
{
  return weight == Weight::gradient ? 8 : soft ? 256 : 1;
}

/// Returns the weight of a pixel: eight times the length of its gradient, rounded.
HOST_DEVICE inline int length_of_gradient (int dx, int dy)
{
  constexpr int kUnit = unit_of (Weight::gradient, false);
  const int square = kUnit * kUnit * (dx * dx + dy * dy);  // below 2^23, so that a float is exact
  const int root = int (sqrtf (float (square)));           // rounded down
  return square - root * root > root ? root + 1 : root;
}

}  // namespace inthist
