// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Outlines, labels, bar charts and trails on a video frame, with cairo. Knows nothing of elements
// and metas.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include <cairo.h>
#include <gst/integralhist/error.hpp>
#include <gst/video/video.h>

namespace integralhist {

struct Colour {
  double red, green, blue;
};

struct Point {
  double x, y;
};

/// In pixels; it may lie outside of the frame.
struct Box {
  gint64 x, y, width, height;

  gint64 right () const { return x + width; }
  gint64 bottom () const { return y + height; }
};

/// The part of the box inside a frame of this size; all zero where there is none.
Box visible (const Box &box, gint64 width, gint64 height);

/// Whether GstVideo can blend to frames of this format, and leaves the pixels beside as they are.
bool can_paint (GstVideoFormat format);

/// Draws on one frame: the `area` of a picture that is mapped for reading and writing.
class OverlayPainter {
public:
  /// With a `line_width` of 0 lines are as wide as the frame's height asks for.
  OverlayPainter (const GstVideoFrame &picture, const GstVideoRectangle &area, unsigned line_width);

  /// What went wrong first, after which nothing is drawn.
  const Expected<> &outcome () const { return outcome_; }

  /// Along the box's border, inside, with a dark seam.
  void outline (const Box &box, const Colour &colour);
  /// Above the box, or in it where the frame ends. Valid UTF-8; where there is no font, nothing.
  void label (const Box &box, const Colour &colour, const std::string &text);
  /// Below the box where there is room, else beside or in it; the highest bar is the largest count.
  void bars (const Box &box, const Colour &colour, std::span<const guint32> counts);
  /// From the oldest point, which is the faintest.
  void trail (std::span<const Point> points, const Colour &colour, double opacity);

private:
  using Draw = std::function<void (cairo_t *)>;

  /// The width of as much as `rows` rows are high, at least a pixel.
  gint64 in_width (gint64 rows) const;
  void frame (const Box &box, gint64 across, const Colour &colour, double opacity);
  void fill (const Box &box, const Colour &colour, double opacity);
  /// What `draw` draws in coordinates of the frame, but only in the box.
  void paint (const Box &box, const Draw &draw);
  Expected<> paint_tile (const Box &tile, const Draw &draw);
  Expected<> blend (GstBuffer *pixels, const Box &box);

  const GstVideoFrame &picture_;
  const GstVideoRectangle area_;  // of the picture, that is the frame
  const int width_, height_;      // of the frame
  const double stretch_;          // pixels that are as wide as one is high
  const gint64 line_;
  const double font_size_;
  Expected<> outcome_;
  std::unique_ptr<cairo_scaled_font_t, void (*) (cairo_scaled_font_t *)>
      font_;  // there from the first label
};

}  // namespace integralhist
