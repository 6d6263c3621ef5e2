// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A likelihood map as a picture: in gray, in colours, or over the frame. This code knows neither
// elements nor metas.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <gst/video/video.h>

#include <gst/integralhist/engine/device_canvas.hpp>
#include <gst/integralhist/gstintegralhistogramquery.h>

namespace integralhist {

/// The windows of a map along a side of the frame, in pixels of the original. The first and the
/// last window are equally far from their borders.
struct MapSide {
  int pixels = 0, window = 0, step = 1, first = 0, windows = 0;

  MapSide () = default;
  /// `pixels` is the length of the side in the original. The other lengths are in pixels of the
  /// frame: of the side, of a window and of a step.
  MapSide (int pixels, int of_frame, guint window_of_frame, guint step_of_frame);

  /// Returns the pixel of a side of `length` pixels that is the centre of a window.
  int centre (int window_index, int length) const;
  /// Returns the window that is nearest to a pixel of a side of `length` pixels.
  int nearest (int pixel, int length) const;
};

/// The pixel that is laid over a frame for each level of likeness, 0 to 255.
using LevelColours = std::array<inthist::Argb, 256>;
LevelColours gray_levels ();
LevelColours heat_levels ();
LevelColours blend_levels (double opacity);

/// The scale: a bar with the colours of a likeness of 0 to 1, and its place on a frame.
struct LevelScale {
  GstVideoRectangle place;
  std::vector<inthist::Argb> pixels;

  /// Returns nothing for a frame that is too small.
  static std::optional<LevelScale> of (int width, int height);
};

class LikelihoodPicture {
public:
  /// Sets the map to paint from now on. `values` has the value of each window, row by row.
  void set_map (const MapSide &x, const MapSide &y, std::span<const gfloat> values,
                GstIntegralHistogramMeasure measure, int bins);
  bool has_map () const { return !levels_.empty (); }

  /// Paint the map on a frame of GRAY8, or in colours on a frame of BGRx.
  void paint_gray (GstVideoFrame &out) const;
  void paint_heat (GstVideoFrame &out) const;
  /// Converts the `area` of a picture to BGRx, and lays the colours over it. Their opacity is
  /// `opacity` where the likeness is 1, and less elsewhere.
  Expected<> paint_blend (const GstVideoFrame &in, const GstVideoRectangle &area, double opacity,
                          GstVideoFrame &out);
  /// Forgets the formats of frames, because caps have changed.
  void forget_formats () { converter_.reset (); }

  /// Returns the map to lay over a rectangle of a frame. It is valid until the next call.
  LevelPicture over (const GstVideoRectangle &area, const LevelColours &colours);

  /// Draws the scale on a frame of BGRx.
  static void draw_scale (GstVideoFrame &out);

private:
  template <class Pixel, class PixelOf, class Paint>
  void each_row (GstVideoFrame &frame, PixelOf &&pixel_of, Paint &&paint) const;

  MapSide x_, y_;
  std::vector<guint8> levels_;       // the likeness of the windows, row by row
  std::vector<int> columns_, rows_;  // of each pixel of an area
  std::unique_ptr<GstVideoConverter, void (*) (GstVideoConverter *)> converter_ = {
    nullptr, gst_video_converter_free
  };
  std::array<int, 6> converted_;  // the size of the converter's pictures, and the area it takes
};

}  // namespace integralhist
