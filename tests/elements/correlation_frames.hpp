// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames for the parts of the correlation tracker, with the integral histograms that the tracker
// uses.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>

#include <gst/integralhist/gstintegralhistogrammeta.h>

#include <gst/track/correlation/cells.hpp>
#include "frames.hpp"

/// A picture of RGB pixels.
struct RgbPicture {
  int width, height;
  std::vector<guint8> bytes;

  RgbPicture (int width, int height) : width (width), height (height), bytes (width * height * 3) {}
  guint8 *at (int x, int y) { return &bytes[std::size_t (y * width + x) * 3]; }
};

/// Squares of four pixels with random colours between two values, and a little noise.
inline RgbPicture squares (int width, int height, unsigned seed, int low, int high)
{
  constexpr int kSquare = 4;
  std::mt19937 random (seed);
  RgbPicture picture (width, height);
  const int columns = width / kSquare + 1;
  std::vector<int> values (std::size_t (columns * (height / kSquare + 1)) * 3);
  for (int &value : values)
    value = low + int (random () % unsigned (high - low));
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      for (int c = 0; c < 3; c++)
        picture.at (x, y)[c] = guint8 (std::clamp (
            values[(y / kSquare * columns + x / kSquare) * 3 + c] + int (random () % 7) - 3, 0,
            255));
  return picture;
}

/// Draws a picture over another, with its middle there, larger by `scale`.
inline void draw (RgbPicture &to, const RgbPicture &from, double x, double y, double scale = 1)
{
  const double left = x - from.width * scale / 2, top = y - from.height * scale / 2;
  for (int j = 0; j < to.height; j++)
    for (int i = 0; i < to.width; i++) {
      const int u = int (std::floor ((i + 0.5 - left) / scale)),
                v = int (std::floor ((j + 0.5 - top) / scale));
      if (u >= 0 && v >= 0 && u < from.width && v < from.height)
        std::copy_n (const_cast<RgbPicture &> (from).at (u, v), 3, to.at (i, j));
    }
}

/// Makes integral histograms of pictures.
class Frames {
public:
  explicit Frames (int width, int height)
      : harness_ (
          "cudaintegralhist backend=cpu feature=signed-gradient bins=18 weight=gradient "
          "soft=true ! cudaintegralhist backend=cpu feature=hsv ! cudaintegralimage backend=cpu",
          caps_of ("RGB", width, height))
  {
  }

  /// Returns the histograms of a picture, which are valid until the next call.
  integralhist::FrameTensors of (const RgbPicture &picture)
  {
    buffer_.reset ();
    const gsize stride = GST_ROUND_UP_4 (gsize (picture.width) * 3);
    GstBuffer *buffer = gst_buffer_new_allocate (nullptr, stride * picture.height, nullptr);
    for (int y = 0; y < picture.height; y++)
      gst_buffer_fill (buffer, y * stride, &picture.bytes[std::size_t (y * picture.width) * 3],
                       gsize (picture.width) * 3);
    buffer_ = harness_.pass (buffer);
    const auto meta = [&] (GstIntegralHistogramFeature feature) {
      return gst_buffer_get_integral_histogram_meta_of_feature (buffer_.get (), feature)->histogram;
    };
    return { meta (GST_INTEGRAL_HISTOGRAM_FEATURE_SIGNED_GRADIENT),
             meta (GST_INTEGRAL_HISTOGRAM_FEATURE_HSV),
             gst_buffer_get_integral_histogram_meta_of (buffer_.get (),
                                                        GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS)
                 ->histogram };
  }

private:
  Harness harness_;
  Buffer buffer_;
};
