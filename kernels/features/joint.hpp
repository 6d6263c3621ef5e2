// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Features of colours, with one value of the colour or several (joint features). A joint feature
// divides each of its values into equal parts. The feature's value is (first * n1 + second) * n2 +
// third, where first, second and third are the numbers of the parts. Trackers use HSV in 16x4x4 or
// RGB in 6x6x6 parts (Bertinetto et al. 2016 took 32x32x32, which gained nothing).
#pragma once

#include "hsv.hpp"

namespace inthist {

template <int kChannel>
struct OneColour {
  static constexpr Reads kReads = Reads::rgb;  // or Reads::ycbcr

  HOST_DEVICE static std::uint8_t value_of (const Pixel &pixel)
  {
    return std::uint8_t (pixel.colour.of[kChannel]);
  }
};

/// RGB or YCbCr.
struct JointColour {
  static constexpr Reads kReads = Reads::rgb;  // or Reads::ycbcr

  HOST_DEVICE static std::uint8_t value_of (const Pixel &pixel)
  {
    const Quantization &n = pixel.parts;
    const auto [a, b, c] = pixel.colour.of;
    return std::uint8_t (((a * n[0] >> 8) * n[1] + (b * n[1] >> 8)) * n[2] + (c * n[2] >> 8));
  }
};

struct HueSaturation {
  static constexpr Reads kReads = Reads::rgb;

  HOST_DEVICE static std::uint8_t value_of (const Pixel &pixel)
  {
    const Quantization &n = pixel.parts;
    const auto [h, s, v] = Hsv::of (pixel.colour);
    // The hue's part, h * n[0] / 180, is computed in 32 bits, so that a vector has more lanes. This
    // is exact for products below 180 * 256.
    static_assert (Hsv::kHues == 4 * 45);
    const int part = (h * n[0] >> 2) * 23302 >> 20;
    return std::uint8_t (part * n[1] + (s * n[1] >> 8));
  }
};

struct JointHsv {
  static constexpr Reads kReads = Reads::rgb;

  HOST_DEVICE static std::uint8_t value_of (const Pixel &pixel)
  {
    const int values = pixel.parts[2];
    return std::uint8_t (HueSaturation::value_of (pixel) * values
                         + (Hsv::of (pixel.colour).value * values >> 8));
  }
};

}  // namespace inthist
