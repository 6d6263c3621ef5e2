// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Local binary patterns (Ojala, Pietikainen and Maenpaa 2002): which of the 8 neighbours are at
// least as bright as the pixel. Bit 0 is the neighbour to the right, and the next bits go
// counterclockwise. In a uniform pattern, bits change at most twice around the circle. Uniform
// patterns are numbered as in scikit-image's nri_uniform: 0 for no bit, 57 for all bits, and 1 + 8
// * (bits - 1) + turns for the others. `turns` is the number of steps counterclockwise that bring
// the first bit to the right of the pixel. All patterns that are not uniform have the number 58.
#pragma once

#include "pixel.hpp"

namespace inthist {

struct Lbp {
  static constexpr Reads kReads = Reads::luma_3x3;

  HOST_DEVICE static std::uint8_t value_of (const Pixel &pixel)
  {
    const auto is_set = [&pixel] (int dx, int dy) {
      return pixel.luma[1 + dy][1 + dx] >= pixel.luma[1][1] ? 1 : 0;
    };
    return std::uint8_t (is_set (1, 0) | is_set (1, -1) << 1 | is_set (0, -1) << 2
                         | is_set (-1, -1) << 3 | is_set (-1, 0) << 4 | is_set (-1, 1) << 5
                         | is_set (0, 1) << 6 | is_set (1, 1) << 7);
  }
};

struct UniformLbp {
  static constexpr Reads kReads = Reads::luma_3x3;

  HOST_DEVICE static std::uint8_t value_of (const Pixel &pixel)
  {
    const unsigned pattern = Lbp::value_of (pixel),
                   turned = (pattern << 1 | pattern >> 7) & 255;  // by one neighbour
    const int changes = n_bits (pattern ^ turned), bits = n_bits (pattern);
    if (changes > 2)
      return 58;
    if (bits == 0 || bits == 8)
      return bits == 0 ? 0 : 57;
    const int first = n_bits (((pattern & ~turned) - 1) & 255);
    return std::uint8_t (1 + 8 * (bits - 1) + (8 - first) % 8);
  }

private:
  HOST_DEVICE static int n_bits (unsigned pattern)
  {
    pattern -= pattern >> 1 & 0x55;
    pattern = (pattern & 0x33) + (pattern >> 2 & 0x33);
    return int ((pattern + (pattern >> 4)) & 15);
  }
};

}  // namespace inthist
