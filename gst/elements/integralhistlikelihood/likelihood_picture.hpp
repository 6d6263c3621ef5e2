// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Paints a likelihood map: in gray, in colours, or over the frame. Needs no elements or metas.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <gst/video/video.h>

#include <gst/integralhist/engine/device_blender.hpp>
#include <gst/integralhist/gstintegralhistogramquery.h>

namespace integralhist {

/// The windows of a likelihood map along a side of the picture whose histogram was computed, in
/// pixels. The first and the last window are equally far from their borders.
struct MapSide {
  int pixels = 0, window = 0, step = 1, first = 0, windows = 0;

  MapSide () = default;
  /// Converts a side, a window and a step from pixels of the frame, which may have been scaled, to
  /// the picture whose histogram was computed, where the side has `pixels` pixels.
  MapSide (int pixels, int of_frame, guint window_of_frame, guint step_of_frame);

  /// Returns the pixel of a side of `length` pixels that is the centre of a window.
  int centre (int window_index, int length) const;
  /// Finds the nearest window of each pixel of a side of `length` pixels.
  void find_nearest (int length, std::vector<int> &nearest) const;
};

/// The ARGB pixel that is laid over a frame for each level of likeness, 0 to 255.
using LevelColours = std::array<inthist::Argb, 256>;
LevelColours gray_levels ();
LevelColours heat_levels ();
LevelColours blend_levels (double opacity);

/// A legend for frames: a bar with the colours of likeness 0 to 1, and the place of the bar.
struct LevelScale {
  GstVideoRectangle place;
  std::vector<inthist::Argb> pixels;

  /// Returns the legend for a frame of this size in pixels; nothing if the frame is below 160x120.
  static std::optional<LevelScale> of (int width, int height);
};

class LikelihoodPicture {
public:
  /// Sets the likelihood map to paint. `values` has the value of each window, row by row.
  void set_map (const MapSide &x, const MapSide &y, std::span<const gfloat> values,
                GstIntegralHistogramMeasure measure, int bins);
  bool has_map () const { return !levels_.empty (); }

  void paint_gray (GstVideoFrame &out);
  void paint_heat (GstVideoFrame &out);
  /// Converts the rectangle `area` of a picture to BGRx, and lays the colours of the map over it,
  /// with the given opacity where the likeness is 1, and less elsewhere.
  Expected<> paint_blend (const GstVideoFrame &in, const GstVideoRectangle &area, double opacity,
                          GstVideoFrame &out);
  /// Forgets the converter of the old frame format, because caps have changed.
  void forget_formats () { converter_.reset (); }

  /// Returns the likelihood map to lay over a rectangle of a frame; valid until the next call.
  LevelPicture over (const GstVideoRectangle &area, const LevelColours &colours);

  static void draw_scale (GstVideoFrame &out);

private:
  template <class Pixel, class PixelOf, class Paint>
  void each_row (GstVideoFrame &frame, PixelOf &&pixel_of, Paint &&paint);

  MapSide x_, y_;
  std::vector<guint8> levels_;       // likeness of each window, 0 to 255, row by row
  std::vector<int> columns_, rows_;  // the windows nearest to pixels
  std::unique_ptr<GstVideoConverter, void (*) (GstVideoConverter *)> converter_ = {
    nullptr, gst_video_converter_free
  };
  std::array<int, 6> converted_;  // picture size and area for which converter_ was made
};

}  // namespace integralhist
