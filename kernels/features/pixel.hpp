// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A pixel as features see it, and the code that reads it from an image of any format.
#pragma once

#include "../pixel_format.hpp"
#include "sectors.hpp"

namespace inthist {

/// Three values of 8 bits: red, green and blue, or Y, Cb and Cr.
struct Colour {
  int of[3];
};

/// The argument of a feature. Only what the feature reads is set (FeatureInfo::reads).
struct Pixel {
  Colour colour;
  int luma[3][3];  // luma of the pixel, in the middle, and its neighbours
  const Quantization &parts;
  const Sectors &sectors;  // for a gradient

  /// Luma's gradient along x and y, by the kernel [-1 0 1].
  HOST_DEVICE int dx () const { return luma[1][2] - luma[1][0]; }
  HOST_DEVICE int dy () const { return luma[2][1] - luma[0][1]; }
};

/// Returns the sectors of a format's gradient feature. Other features do not use the result.
inline Sectors sectors_of (const PixelFormat &format)
{
  return info_of (format.feature).is_gradient ? Sectors::of (format.quantization[0]) : Sectors ();
}

HOST_DEVICE inline int clamped (int value, int most)
{
  return value < 0 ? 0 : value > most ? most : value;
}

/// Reads the pixels of one row of an image, and the luma of the rows above and below.
class RowReader {
public:
  HOST_DEVICE RowReader (const Image &image, int width, int y)
      : format_ (image.format), left_ (image.left), last_ (width - 1)
  {
    const auto row_of = [] (const ImagePlane &plane, int row) {
      return static_cast<const std::uint8_t *> (plane.data) + row * plane.stride;
    };
    const ImagePlane first = { image.data, image.stride };
    for (int i = 0; i < 3; i++) {
      const Channel &channel = format_.channel[i];
      channel_[i] = row_of (channel.plane == 0 ? first : image.chroma[channel.plane - 1],
                            channel.row_of (image.top + y))
                    + channel.offset;
      luma_[i] = row_of (first, image.top + clamped (y + i - 1, image.rows - 1));
    }
  }

  HOST_DEVICE const PixelFormat &format () const { return format_; }
  HOST_DEVICE int left () const { return left_; }

  /// Returns the i-th colour component of the pixel in column x, as 8 bits.
  HOST_DEVICE int channel (int i, int x) const
  {
    const Channel &from = format_.channel[i];
    const std::uint8_t *const at = first (i, x);
    if (from.bytes == 1)
      return *at;
    if (from.bytes == 0)
      return 128;  // a gray image has no colour differences
    std::uint32_t word = at[0];
    for (int byte = 1; byte < from.bytes; byte++)
      word |= std::uint32_t (at[byte]) << (8 * byte);
    return int (word >> from.shift & 255);
  }
  /// Returns the address of the i-th colour component in column x.
  HOST_DEVICE const std::uint8_t *first (int i, int x) const
  {
    const Channel &from = format_.channel[i];
    return channel_[i] + std::ptrdiff_t ((left_ + x) >> from.log2_subsample_x) * from.step;
  }

  HOST_DEVICE static Colour transformed (const Colour &from, const ColourTransform &by)
  {
    Colour to;
    for (int i = 0; i < 3; i++)
      to.of[i] = clamped ((by.factor[i][0] * from.of[0] + by.factor[i][1] * from.of[1]
                           + by.factor[i][2] * from.of[2] + by.offset[i])
                              >> ColourTransform::kBits,
                          255);
    return to;
  }

  /// Return the luma in column x, or the address of the row's first pixel, for the row above (0),
  /// this row (1) or the row below (2).
  HOST_DEVICE int luma (int row, int x) const
  {
    return pixel_value (luma_[row] + std::ptrdiff_t (left_ + clamped (x, last_)) * format_.bytes,
                        format_);
  }

  HOST_DEVICE const std::uint8_t *luma_row (int row) const
  {
    return luma_[row] + left_ * format_.bytes;
  }

private:
  const PixelFormat &format_;
  const int left_, last_;
  const std::uint8_t *channel_[3], *luma_[3];
};

}  // namespace inthist
