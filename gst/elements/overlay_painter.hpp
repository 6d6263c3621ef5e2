// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Outlines, labels, bar charts and trails on a video frame, with cairo. Knows nothing of elements
// and metas.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

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

/// The bar chart of a histogram, and what is written above it.
struct Chart {
  Colour colour;
  std::string caption;  // may be empty; where it is too wide, its last word is written
  std::vector<guint32> counts;
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
  /// Of each box the chart that `chart_of` gives, side by side in a row along the lower edge of the
  /// frame, or along the upper one where that hides less of the boxes. The highest bar of each is
  /// its largest count. Where not all of them fit, the row ends with how many are left out, which
  /// `chart_of` is not called for. `has_captions` leaves room for captions.
  Expected<> charts (std::span<const Box> boxes, bool has_captions,
                     const std::function<Expected<Chart> (std::size_t)> &chart_of);
  /// Above the box, else below or in it, else as near as there is room for it: labels hide neither
  /// each other nor charts. One without any room is left out. Valid UTF-8; where there is no font,
  /// nothing.
  void label (const Box &box, const Colour &colour, const std::string &text);
  /// From the oldest point, which is the faintest.
  void trail (std::span<const Point> points, const Colour &colour, double opacity);

private:
  using Draw = std::function<void (cairo_t *)>;
  struct TextSize {
    gint64 width, height;
  };

  /// The width of as much as `rows` rows are high, at least a pixel.
  gint64 in_width (gint64 rows) const;
  double text_margin () const { return std::round (font_size_ / 4) * stretch_; }
  void frame (const Box &box, gint64 across, const Colour &colour, double opacity);
  void fill (const Box &box, const Colour &colour, double opacity);
  /// The size of a line of text with its margins; nothing where there is no font.
  std::optional<TextSize> measure (const std::string &text);
  void write (cairo_t *cr, const Box &place, const std::string &text) const;
  void chart (const Box &place, const Chart &chart, gint64 bar_height);
  bool is_free (const Box &place) const;
  /// The place nearest to the wish that is free, row by row.
  std::optional<Box> free_place (const Box &wish) const;
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
      font_;                      // there from the first text
  std::vector<Box> taken_;        // by charts and labels
  gint64 too_wide_ = G_MAXINT64;  // a label for which there is no room, nor for wider ones
};

}  // namespace integralhist
