// SPDX-License-Identifier: LGPL-2.1-or-later
#include "likelihood_picture.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <gst/frame/mapped_frame.hpp>

namespace integralhist {
namespace {

using Bgrx = std::array<guint8, 4>;

/// 256 colours from dark blue over green to yellow, each lighter than the one before, in about
/// equal steps, so that colour-blind viewers and gray prints show the same order. They are
/// interpolated between ten colours of viridis (van der Walt and Smith 2015).
constexpr std::array<Bgrx, 256> colour_map ()
{
  constexpr double kControl[][3] = { { 68, 1, 84 },    { 72, 40, 120 },  { 62, 74, 137 },
                                     { 49, 104, 142 }, { 38, 130, 142 }, { 31, 158, 137 },
                                     { 53, 183, 121 }, { 110, 206, 88 }, { 181, 222, 43 },
                                     { 253, 231, 37 } };
  constexpr int kGaps = 9;
  std::array<Bgrx, 256> colours = {};
  for (int level = 0; level < 256; level++) {
    const int gap = level == 255 ? kGaps - 1 : level * kGaps / 255;
    const double part = double (level * kGaps) / 255 - gap;
    const auto mixed = [&] (int c) {
      return guint8 (kControl[gap][c] * (1 - part) + kControl[gap + 1][c] * part + 0.5);
    };
    colours[std::size_t (level)] = { mixed (2), mixed (1), mixed (0), 255 };
  }
  return colours;
}

constexpr std::array<Bgrx, 256> kColours = colour_map ();

/// Returns the pixel in a line of `to` pixels that corresponds to `at` in a line of `from` pixels.
int scaled (int at, int from, int to)
{
  return int ((2 * gint64 (at) + 1) * to / (2 * gint64 (from)));
}

/// Converts a value of a measure of histograms to a brightness: 1 if alike, 0 or less if not.
double brightness (GstIntegralHistogramMeasure measure, double value, int bins)
{
  const auto below = [value] (double bound) { return 1 - value / bound; };
  switch (measure) {
    case GST_INTEGRAL_HISTOGRAM_MEASURE_INTERSECTION:
    case GST_INTEGRAL_HISTOGRAM_MEASURE_CORRELATION:
    case GST_INTEGRAL_HISTOGRAM_MEASURE_LINEAR: return value;
    case GST_INTEGRAL_HISTOGRAM_MEASURE_BHATTACHARYYA:
    case GST_INTEGRAL_HISTOGRAM_MEASURE_KOLMOGOROV_SMIRNOV: return below (1);
    case GST_INTEGRAL_HISTOGRAM_MEASURE_L1: return below (2);
    case GST_INTEGRAL_HISTOGRAM_MEASURE_L2: return below (G_SQRT2);
    case GST_INTEGRAL_HISTOGRAM_MEASURE_CHI_SQUARE_ALT: return below (4);
    case GST_INTEGRAL_HISTOGRAM_MEASURE_EMD: return below (std::max (bins - 1, 1));
    case GST_INTEGRAL_HISTOGRAM_MEASURE_CHI_SQUARE:
    case GST_INTEGRAL_HISTOGRAM_MEASURE_KULLBACK_LEIBLER: break;
  }
  return 1 / (1 + std::max (value, 0.0));
}

void copy_row (guint8 *out, const guint8 *row, gsize bytes)
{
  std::copy_n (row, bytes, out);
}

/// Blends a row of BGRx over the pixels `out`; the fourth byte of each pixel is the opacity.
void mix_row (guint8 *out, const guint8 *row, gsize bytes)
{
  for (gsize i = 0; i < bytes; i += 4)
    for (gsize c = i; c < i + 3; c++)
      out[c] = guint8 ((out[c] * (255 - row[i + 3]) + row[c] * row[i + 3] + 127) / 255);
}

/// Returns a colour as ARGB, premultiplied by an alpha of 0 to 255, which is opaque.
inthist::Argb argb (const Bgrx &colour, guint alpha = 255)
{
  const auto part = [alpha] (guint8 value) { return (value * alpha + 127) / 255; };
  return alpha << 24 | part (colour[2]) << 16 | part (colour[1]) << 8 | part (colour[0]);
}

guint8 opacity_of (double opacity, int level)
{
  return guint8 (std::lround (opacity * level));
}

template <class ColourOf>
LevelColours each_level (ColourOf &&colour_of)
{
  LevelColours colours;
  for (int level = 0; level < 256; level++)
    colours[gsize (level)] = colour_of (level);
  return colours;
}

}  // namespace

LevelColours gray_levels ()
{
  return each_level ([] (int level) {
    const auto gray = guint8 (level);
    return argb ({ gray, gray, gray, 255 });
  });
}

LevelColours heat_levels ()
{
  return each_level ([] (int level) { return argb (kColours[gsize (level)]); });
}

LevelColours blend_levels (double opacity)
{
  return each_level ([opacity] (int level) {
    return argb (kColours[gsize (level)], opacity_of (opacity, level));
  });
}

MapSide::MapSide (int pixels, int of_frame, guint window_of_frame, guint step_of_frame)
    : pixels (pixels)
{
  const auto in_original = [&] (guint length) {
    return std::llround (double (length) * pixels / of_frame);
  };
  const gint64 largest = 2 * gint64 (pixels) + 1;  // a larger window covers the same pixels
  window = int (std::clamp<gint64> (in_original (window_of_frame), 1, largest));
  step = int (std::clamp<gint64> (in_original (step_of_frame), 1, pixels));
  first = (pixels - 1) % step / 2;
  windows = (pixels - 1) / step + 1;
}

int MapSide::centre (int window_index, int length) const
{
  return scaled (first + window_index * step, pixels, length);
}

void MapSide::find_nearest (int length, std::vector<int> &nearest) const
{
  nearest.resize (gsize (length));
  for (int i = 0; i < length; i++)
    nearest[gsize (i)] =
        std::min ((scaled (i, length, pixels) - first + step / 2) / step, windows - 1);
}

void LikelihoodPicture::set_map (const MapSide &x, const MapSide &y, std::span<const gfloat> values,
                                 GstIntegralHistogramMeasure measure, int bins)
{
  x_ = x;
  y_ = y;
  levels_.resize (values.size ());
  std::ranges::transform (values, levels_.begin (), [&] (gfloat value) {
    return guint8 (std::lround (255 * std::clamp (brightness (measure, value, bins), 0.0, 1.0)));
  });
}

/// Calls `paint` for every row of the frame with the pixels of that row; `pixel_of` makes each
/// pixel from the likeness (0 to 255) of the nearest window.
template <class Pixel, class PixelOf, class Paint>
void LikelihoodPicture::each_row (GstVideoFrame &frame, PixelOf &&pixel_of, Paint &&paint)
{
  x_.find_nearest (GST_VIDEO_FRAME_WIDTH (&frame), columns_);
  y_.find_nearest (GST_VIDEO_FRAME_HEIGHT (&frame), rows_);
  std::vector<Pixel> line (columns_.size ());
  int in_line = -1;
  for (gsize y = 0; y < rows_.size (); y++) {
    const int row = rows_[y];
    if (row != std::exchange (in_line, row)) {
      const guint8 *levels = &levels_[gsize (row) * gsize (x_.windows)];
      std::ranges::transform (columns_, line.begin (),
                              [&] (int column) { return pixel_of (levels[column]); });
    }
    guint8 *out = static_cast<guint8 *> (GST_VIDEO_FRAME_PLANE_DATA (&frame, 0))
                  + gssize (y) * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0);
    paint (out, reinterpret_cast<const guint8 *> (line.data ()), line.size () * sizeof (Pixel));
  }
}

void LikelihoodPicture::paint_gray (GstVideoFrame &out)
{
  each_row<guint8> (
      out, [] (guint8 level) { return level; }, copy_row);
}

void LikelihoodPicture::paint_heat (GstVideoFrame &out)
{
  each_row<Bgrx> (
      out, [] (guint8 level) { return kColours[level]; }, copy_row);
}

Expected<> LikelihoodPicture::paint_blend (const GstVideoFrame &in, const GstVideoRectangle &area,
                                           double opacity, GstVideoFrame &out)
{
  TRY (check_planes (in));
  const std::array converted = { in.info.width, in.info.height, area.x, area.y, area.w, area.h };
  if (!converter_ || converted != converted_) {
    GstStructure *options = gst_structure_new (
        "options", GST_VIDEO_CONVERTER_OPT_SRC_X, G_TYPE_INT, area.x, GST_VIDEO_CONVERTER_OPT_SRC_Y,
        G_TYPE_INT, area.y, GST_VIDEO_CONVERTER_OPT_SRC_WIDTH, G_TYPE_INT, area.w,
        GST_VIDEO_CONVERTER_OPT_SRC_HEIGHT, G_TYPE_INT, area.h, nullptr);
    converter_.reset (gst_video_converter_new (&in.info, &out.info, options));
    converted_ = converted;
  }
  if (!converter_)
    return error (Error::Kind::bad_frame, "Frames of these caps cannot be converted to blend with "
                                          "the map: set mode=heat, or put videoconvert before");
  gst_video_converter_frame (converter_.get (), &in, &out);
  each_row<Bgrx> (
      out,
      [opacity] (guint8 level) {
        Bgrx pixel = kColours[level];
        pixel[3] = opacity_of (opacity, level);
        return pixel;
      },
      mix_row);
  return {};
}

LevelPicture LikelihoodPicture::over (const GstVideoRectangle &area, const LevelColours &colours)
{
  x_.find_nearest (area.w, columns_);
  y_.find_nearest (area.h, rows_);
  return { levels_, x_.windows, columns_, rows_, colours, area.x, area.y };
}

std::optional<LevelScale> LevelScale::of (int width, int height)
{
  if (width < 160 || height < 120)
    return {};
  // The digits 0 and 1 of the legend, 3x5 points each; a row's left point is its highest bit.
  constexpr int kZero[] = { 7, 5, 5, 5, 7 }, kOne[] = { 2, 6, 2, 2, 7 };
  constexpr inthist::Argb kPanel = 0xff282828, kInk = 0xffffffff;
  const int dot = std::clamp (height / 240, 1, width / 84), gap = 3 * dot, tall = 5 * dot,
            digit = 3 * dot;
  const int bar = width / 4, all = bar + 2 * digit + 4 * gap, high = tall + 2 * gap;
  LevelScale scale = { { width - all - gap, height - high - gap, all, high }, {} };
  scale.pixels.assign (gsize (all) * gsize (high), kPanel);
  const auto put = [&] (int x, int y, inthist::Argb colour) {
    scale.pixels[gsize (y) * gsize (all) + gsize (x)] = colour;
  };
  const auto write = [&] (const int (&rows)[5], int at) {
    for (int y = 0; y < tall; y++)
      for (int x = 0; x < digit; x++)
        if (rows[y / dot] & (4 >> (x / dot)))
          put (at + x, gap + y, kInk);
  };
  for (int y = gap; y < gap + tall; y++)
    for (int x = 0; x < bar; x++)
      put (2 * gap + digit + x, y, argb (kColours[gsize (x * 255 / (bar - 1))]));
  write (kZero, gap);
  write (kOne, 3 * gap + digit + bar);
  return scale;
}

void LikelihoodPicture::draw_scale (GstVideoFrame &out)
{
  const auto scale = LevelScale::of (GST_VIDEO_FRAME_WIDTH (&out), GST_VIDEO_FRAME_HEIGHT (&out));
  if (!scale)
    return;
  const GstVideoRectangle &at = scale->place;
  for (int y = 0; y < at.h; y++) {
    auto *to = static_cast<guint8 *> (GST_VIDEO_FRAME_PLANE_DATA (&out, 0))
               + gssize (at.y + y) * GST_VIDEO_FRAME_PLANE_STRIDE (&out, 0) + gssize (at.x) * 4;
    for (int x = 0; x < at.w; x++, to += 4)
      GST_WRITE_UINT32_LE (to, scale->pixels[gsize (y) * gsize (at.w) + gsize (x)]);
  }
}

}  // namespace integralhist
