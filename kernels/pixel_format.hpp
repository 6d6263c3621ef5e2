// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>
#include <cstdint>

#include "features/feature.hpp"
#include "features/weight.hpp"
#include "host_device.hpp"

namespace inthist {

/// Says where 8 bits of a colour lie: in a little-endian word of `bytes` bytes, whose first byte is
/// `offset` bytes after the pixel's first byte. The next word lies `step` bytes further. If the
/// colour is subsampled, such as the chroma of 4:2:0, 2^log2_subsample_x columns and
/// 2^log2_subsample_y rows share a word. If `bytes` is 0, the image has no such colour.
///
/// If the image is interlaced, its rows and the rows of the plane alternate between two fields.
/// Only rows of the same field share a row of chroma (ITU-T H.264, 6.2): the rows of an image in
/// 4:2:0 have the rows of chroma 0, 1, 0, 1, 2, 3, 2, 3, ...
struct Channel {
  std::uint8_t plane = 0, bytes = 0, step = 0, offset = 0, shift = 0;
  std::uint8_t log2_subsample_x = 0, log2_subsample_y = 0;
  bool interlaced = false;

  /// Returns the row of the plane that stores row y of the image.
  INTHIST_HOST_DEVICE constexpr int row_of (int y) const
  {
    return interlaced ? (y >> 1 >> log2_subsample_y) * 2 + (y & 1) : y >> log2_subsample_y;
  }
  /// Returns how many rows of the plane the first n rows of the image need; n > 0.
  constexpr int rows_of (int n) const
  {
    const int last = row_of (n - 1), other = interlaced && n > 1 ? row_of (n - 2) : 0;
    return (last > other ? last : other) + 1;
  }
  /// Returns whether row y is the first of the rows that share a row of the plane.
  INTHIST_HOST_DEVICE constexpr bool is_first_row (int y) const
  {
    return ((interlaced ? y >> 1 : y) & ((1 << log2_subsample_y) - 1)) == 0;
  }
};

/// Converts the colours of an image to the colours that a feature reads: clamp ((factor[i] * from +
/// offset[i]) >> kBits), with results from 0 to 255.
struct ColourTransform {
  static constexpr int kBits = 16;
  bool is_identity = true;
  std::int32_t factor[3][3] = {}, offset[3] = {};
};

/// Soft bins: a pixel counts for two bins, those between whose middles its value lies.
struct SoftBins {
  static constexpr int kMax = 255;

  std::uint8_t n = 0;  // 0: each pixel has one bin
  std::uint16_t values = 0;
  bool is_cyclic = false;

  static SoftBins of (Feature feature, int bins)
  {
    const FeatureInfo &info = info_of (feature);
    return { std::uint8_t (bins), std::uint16_t (info.n_values), info.is_cyclic };
  }
};

/// Says how the feature's value is computed from the pixels of an image. For features that read
/// only luma, a pixel is a little-endian word of `bytes` bytes in the first plane. With one
/// channel, luma is word >> shift[0] & 255. With three (R, G, B), it is (sum of weight[c] * (word
/// >> shift[c] & 255) + 32768) >> 16.
struct PixelFormat {
  int bytes = 1;                 // 1..4
  int channels = 1;              // 1 or 3
  int shift[3] = {};             // bits
  std::uint32_t weight[3] = {};  // sum up to 65536
  // what other features read
  Feature feature = Feature::luma;
  Quantization quantization = {};  // of a joint feature; [0] is a gradient's sectors
  int n_planes = 1;
  Channel channel[3] = {};
  ColourTransform transform = {};
  // what a pixel adds, with Content::weights
  Weight pixel_weight = Weight::one;
  SoftBins soft = {};

  /// Returns whether each pixel of the first plane is a byte, its luma.
  constexpr bool is_byte () const { return bytes == 1; }
  /// Returns whether each value of the feature is simply the pixel's byte in the first plane.
  bool is_plain () const { return is_byte () && reads_single_pixel () && !is_weighted (); }
  /// Returns whether a value is made from one pixel of the first plane only, and from no
  /// neighbour of the pixel.
  bool reads_single_pixel () const
  {
    return info_of (feature).reads == Reads::luma && pixel_weight == Weight::one;
  }
  /// Returns whether pixels have weights (Content::weights).
  bool is_weighted () const { return pixel_weight != Weight::one || soft.n > 0; }
  /// Returns whether the image is interlaced, so that each field has its own rows of chroma.
  constexpr bool is_interlaced () const
  {
    return channel[0].interlaced || channel[1].interlaced || channel[2].interlaced;
  }
  /// Returns whether the feature reads the colours that `channel` describes.
  bool reads_colours () const
  {
    return info_of (feature).reads == Reads::rgb || info_of (feature).reads == Reads::ycbcr;
  }
};

/// Returns a pixel's luma of 8 bits (see PixelFormat). It is the same on every device.
INTHIST_HOST_DEVICE inline std::uint8_t pixel_value (const std::uint8_t *pixel,
                                                     const PixelFormat &format)
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

struct Plane {
  const void *data = nullptr;
  std::ptrdiff_t stride = 0;  // bytes; negative if rows go from the bottom up
};

/// An image in memory. If PixelFormat::reads_single_pixel (), `data` points to the frame's first
/// pixel in the first plane. If not, each plane may begin a few pixels before the frame, so that
/// its first sample of chroma is whole. Then the frame's first pixel is in column `left` and row
/// `top`.
struct Image {
  const void *data = nullptr;
  std::ptrdiff_t stride = 0;
  PixelFormat format;
  Plane chroma[2] = {};
  int left = 0, top = 0;  // 0 or 1; `top` is up to 3 if the image is interlaced
  int first_row = 0;      // the first of the frame's `rows` that is read
  int rows = 0;
};

}  // namespace inthist
