// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A pixel as features see it, read from the planes of an image of any format.
#pragma once

#include "../pixel_format.hpp"
#include "sectors.hpp"

namespace inthist {

/// Three values of 8 bits: red, green and blue, or Y, Cb and Cr.
struct Colour {
  int of[3];
};

/// Returns the sectors of a gradient, or whatever of other features.
inline Sectors sectors_of (const PixelFormat &format)
{
  return info_of (format.feature).is_gradient () ? Sectors::of (format.quantization[0])
                                                 : Sectors ();
}

INTHIST_HOST_DEVICE inline int clamped (int value, int most)
{
  return value < 0 ? 0 : value > most ? most : value;
}

/// A pixel of an image, `x` and `y` from the frame's first.
struct PixelAt {
  const Image &image;
  const Sectors &sectors;  // of a gradient
  int width, x, y;

  INTHIST_HOST_DEVICE Colour colour () const
  {
    Colour colour;
    for (int c = 0; c < 3; c++)
      colour.of[c] = channel (image.format.channel[c]);
    return transformed (colour, image.format.transform);
  }

  /// Returns the luma of the pixel, or of one that is at most one away.
  INTHIST_HOST_DEVICE int luma (int dx = 0, int dy = 0) const
  {
    const int column = image.left + clamped (x + dx, width - 1),
              row = image.top + clamped (y + dy, image.rows - 1);
    return pixel_value (static_cast<const std::uint8_t *> (image.data) + row * image.stride
                            + std::ptrdiff_t (column) * image.format.bytes,
                        image.format);
  }

  INTHIST_HOST_DEVICE static Colour transformed (const Colour &from, const ColourTransform &by)
  {
    if (by.is_identity)
      return from;
    Colour to;
    for (int i = 0; i < 3; i++)
      to.of[i] = clamped ((by.factor[i][0] * from.of[0] + by.factor[i][1] * from.of[1]
                           + by.factor[i][2] * from.of[2] + by.offset[i])
                              >> ColourTransform::kBits,
                          255);
    return to;
  }

private:
  INTHIST_HOST_DEVICE int channel (const Channel &from) const
  {
    if (from.bytes == 0)
      return 128;  // a gray image's differences
    const Plane plane =
        from.plane == 0 ? Plane{ image.data, image.stride } : image.chroma[from.plane - 1];
    const auto *at = static_cast<const std::uint8_t *> (plane.data)
                     + ((image.top + y) >> from.down) * plane.stride
                     + std::ptrdiff_t ((image.left + x) >> from.right) * from.step + from.offset;
    std::uint32_t word = at[0];
    for (int i = 1; i < from.bytes; i++)
      word |= std::uint32_t (at[i]) << (8 * i);
    return int (word >> from.shift & 255);
  }
};

}  // namespace inthist
