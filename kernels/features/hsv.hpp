// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Hue, saturation and value of 8 bits. They are the same integers as from OpenCV's cvtColor
// (COLOR_RGB2HSV): hue is 0 to 179, half of the angle in degrees, and 0 for gray.
#pragma once

#include "pixel.hpp"
#include "quotient.hpp"

namespace inthist {

struct Hsv {
  int hue, saturation, value;

  static constexpr int kHues = 180;

  HOST_DEVICE static Hsv of (const Colour &colour)
  {
    const auto [r, g, b] = colour.of;
    const int most = r > g ? (r > b ? r : b) : (g > b ? g : b),
              least = r < g ? (r < b ? r : b) : (g < b ? g : b), range = most - least;
    const int sixths = most == r ? g - b : most == g ? b - r + 2 * range : r - g + 4 * range;
    const int hue = (sixths * share (kHues, 6 * range) + kHalf) >> kBits;
    return { hue < 0 ? hue + kHues : hue, (range * share (255, most) + kHalf) >> kBits, most };
  }

private:
  static constexpr int kBits = 12, kHalf = 1 << (kBits - 1);

  /// Returns whole / n in fixed point, rounded; 0 if n is 0.
  HOST_DEVICE static int share (int whole, int n)
  {
    // A division of floats is faster, and exact: the numbers have at most 23 bits, the quotient
    // lies between multiples of 1 / (2 * n), and the error is below the distance to any integer.
    return n == 0 ? 0 : int (quotient (float (4 * (whole << kBits) + 2 * n + 1), float (4 * n)));
  }
};

/// The feature hue. Pixels whose hue means little, such as gray ones, are in no bin (like in
/// OpenCV's camshiftdemo).
struct Hue {
  static constexpr Reads kReads = Reads::rgb;

  HOST_DEVICE static std::uint8_t value_of (const Pixel &pixel)
  {
    constexpr int kMinSaturation = 30, kMinValue = 10;
    const Hsv hsv = Hsv::of (pixel.colour);
    return hsv.saturation < kMinSaturation || hsv.value < kMinValue ? kNoValue
                                                                    : std::uint8_t (hsv.hue);
  }
};

struct Saturation {
  static constexpr Reads kReads = Reads::rgb;

  HOST_DEVICE static std::uint8_t value_of (const Pixel &pixel)
  {
    return std::uint8_t (Hsv::of (pixel.colour).saturation);
  }
};

struct Value {
  static constexpr Reads kReads = Reads::rgb;

  HOST_DEVICE static std::uint8_t value_of (const Pixel &pixel)
  {
    return std::uint8_t (Hsv::of (pixel.colour).value);
  }
};

}  // namespace inthist
