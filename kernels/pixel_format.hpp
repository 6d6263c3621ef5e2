// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>
#include <cstdint>

#include "features/feature.hpp"
#include "features/weight.hpp"
#include "host_device.hpp"

namespace inthist {

/// Says where an image stores 8 bits of one colour (such as R or Cb) of a pixel: in a little-endian
/// word of `bytes` bytes, `shift` bits up, `offset` bytes after the pixel's first byte. The next
/// word lies `step` bytes further. If the colour is subsampled, 2^log2_subsample_x columns and
/// 2^log2_subsample_y rows share a word. If `bytes` is 0, the image has no such colour. The rows of
/// an interlaced image alternate between two fields, and only rows of one field share a row of
/// chroma (ITU-T H.264, 6.2): in 4:2:0, its rows have the rows of chroma 0, 1, 0, 1, 2, 3, ...
struct Channel {
  std::uint8_t plane = 0, bytes = 0, step = 0, offset = 0, shift = 0;
  std::uint8_t log2_subsample_x = 0, log2_subsample_y = 0;
  bool interlaced = false;

  /// Returns the row of the colour's plane that stores row y of the image.
  HOST_DEVICE constexpr int row_of (int y) const
  {
    return interlaced ? (y >> 1 >> log2_subsample_y) * 2 + (y & 1) : y >> log2_subsample_y;
  }
  /// Returns how many rows of the colour's plane the first n rows of the image need; n > 0.
  constexpr int rows_of (int n) const
  {
    const int last = row_of (n - 1), other = interlaced && n > 1 ? row_of (n - 2) : 0;
    return (last > other ? last : other) + 1;
  }
  /// Returns whether row y of the image is the first of the rows that share a row of chroma.
  HOST_DEVICE constexpr bool is_first_row (int y) const
  {
    return ((interlaced ? y >> 1 : y) & ((1 << log2_subsample_y) - 1)) == 0;
  }
};

/// Converts the three colours of an image's pixel to those that a feature reads, such as R, G, B.
/// Colour i becomes (sum of factor[i][c] * colour[c] + offset[i]) >> kBits, clamped to 0..255.
struct ColourTransform {
  static constexpr int kBits = 16;
  bool is_identity = true;
  std::int32_t factor[3][3] = {}, offset[3] = {};
};

/// Soft bins: a pixel counts in the two bins between whose middles its value lies.
struct SoftBins {
  static constexpr int kMax = 255;

  std::uint8_t n = 0;  // number of soft bins; 0 if a pixel counts in one bin
  std::uint16_t values = 0;
  bool is_cyclic = false;

  static SoftBins of (Feature feature, int bins)
  {
    const FeatureInfo &info = info_of (feature);
    return { std::uint8_t (bins), std::uint16_t (info.n_values), info.is_cyclic };
  }
};

/// Says how the value of a feature (such as luma or hue) and the weight of a pixel are computed. If
/// the feature reads only luma, a pixel is a little-endian word of `bytes` bytes in the first
/// plane. Its luma is word >> shift[0] & 255 with one channel, and with three (R, G, B) (sum of
/// weight[c] * (word >> shift[c] & 255) + 32768) >> 16. Other features read `channel` and
/// `transform`.
struct PixelFormat {
  int bytes = 1;                 // 1..4
  int channels = 1;              // 1 or 3
  int shift[3] = {};             // bits
  std::uint32_t weight[3] = {};  // sum up to 65536
  Feature feature = Feature::luma;
  Quantization quantization = {};  // parts of each colour (joint features), or sectors (gradients)
  int n_planes = 1;
  Channel channel[3] = {};
  ColourTransform transform = {};
  Weight pixel_weight = Weight::one;
  SoftBins soft = {};

  constexpr bool is_byte () const { return bytes == 1; }
  /// Returns whether the feature's value is simply the pixel's byte in the first plane.
  bool is_plain () const { return is_byte () && reads_single_pixel () && !is_weighted (); }
  /// Returns whether the feature's value depends on one pixel of the first plane only, and neither
  /// on the pixel's neighbours nor on chroma.
  bool reads_single_pixel () const
  {
    return info_of (feature).reads == Reads::luma && pixel_weight == Weight::one;
  }
  bool is_weighted () const { return pixel_weight != Weight::one || soft.n > 0; }
  constexpr bool is_interlaced () const
  {
    return channel[0].interlaced || channel[1].interlaced || channel[2].interlaced;
  }
  bool reads_colours () const
  {
    return info_of (feature).reads == Reads::rgb || info_of (feature).reads == Reads::ycbcr;
  }
};

/// Returns a pixel's luma of 8 bits (see PixelFormat), the same integer on CPU and GPU.
HOST_DEVICE inline std::uint8_t pixel_value (const std::uint8_t *pixel, const PixelFormat &format)
{
  std::uint32_t word = pixel[0];
  for (int i = 1; i < format.bytes; i++)
    word |= std::uint32_t (pixel[i]) << (8 * i);
  if (format.channels == 1)
    return std::uint8_t (word >> format.shift[0]);
  std::uint32_t luma = 32768;
  for (int c = 0; c < 3; c++)
    luma += format.weight[c] * (word >> format.shift[c] & 255);
  return std::uint8_t (luma >> 16);
}

/// A plane of an image, such as its chroma.
struct ImagePlane {
  const void *data = nullptr;
  std::ptrdiff_t stride = 0;  // bytes to the next row; negative if rows go from the bottom up
};

/// An image in memory. `data` points to the frame's first pixel if PixelFormat::reads_single_pixel
/// (). If not, each plane may begin a few pixels earlier, so that its first sample of chroma is
/// whole, and the frame's first pixel is in column `left` and row `top`.
struct Image {
  const void *data = nullptr;
  std::ptrdiff_t stride = 0;
  PixelFormat format;
  ImagePlane chroma[2] = {};
  int left = 0, top = 0;  // pixels before the frame: 0 or 1; top: 0 to 3 if interlaced
  int first_row = 0;      // the first row of the frame that is read
  int rows = 0;
};

}  // namespace inthist
