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
#include <gst/video/video.h>

#include <gst/elements/drawing/overlay_canvas.hpp>
#include <gst/integralhist/base/error.hpp>

namespace integralhist {

struct Colour {
  double red, green, blue;
};

struct Point {
  double x, y;
};

/// A box in pixels; it may lie outside of the frame.
struct Box {
  gint64 x, y, width, height;

  gint64 right () const { return x + width; }
  gint64 bottom () const { return y + height; }
};

/// The bar chart of a histogram, and what is written above it.
struct Chart {
  Colour colour;
  std::string caption;          // may be empty; where it is too wide, its last word is written
  std::vector<guint64> counts;  // or weights
  std::vector<Colour> bins;     // of the bars, which then end in a line of `colour`; may be empty
};

/// Returns the part of the box inside a frame of this size; all zero where there is none.
Box visible (const Box &box, gint64 width, gint64 height);

/// Draws on one frame: the `area` of a picture.
class OverlayPainter {
public:
  /// The info says how wide pixels are. With a `line_width` of 0 lines are as wide as the frame's
  /// height asks for.
  OverlayPainter (OverlayCanvas &canvas, const GstVideoInfo &info, const GstVideoRectangle &area,
                  unsigned line_width);

  /// Returns the first failure, after which nothing is drawn.
  const Expected<> &outcome () const { return outcome_; }

  /// Outlines the box, inside its border, with a dark seam.
  void outline (const Box &box, const Colour &colour);
  /// Draws the chart that `chart_of` gives for each box, in a row along the lower edge of the
  /// frame, or along the upper one where that hides less of the boxes. The highest bar of each is
  /// its largest count. Where not all fit, the row ends with how many are left out, which
  /// `chart_of` is not called for, and with the note, where there is room. `has_captions` leaves
  /// room for captions.
  Expected<> charts (std::span<const Box> boxes, bool has_captions, const std::string &note,
                     const std::function<Expected<Chart> (std::size_t)> &chart_of);
  /// Writes valid UTF-8 above the box, else below or in it, else as near as there is room: labels
  /// hide neither each other nor charts. Writes nothing without room or without a font.
  void label (const Box &box, const Colour &colour, const std::string &text);
  /// Draws a line from the oldest point, the faintest, to the newest.
  void trail (std::span<const Point> points, const Colour &colour, double opacity);

private:
  using Draw = std::function<void (cairo_t *)>;
  struct TextSize {
    gint64 width, height;
  };

  /// Returns the columns that look as wide as `rows` rows are high, at least one.
  gint64 in_width (gint64 rows) const;
  double text_margin () const { return std::round (font_size_ / 4) * stretch_; }
  void frame (const Box &box, gint64 across, const Colour &colour, double opacity);
  void fill (const Box &box, const Colour &colour, double opacity);
  /// Returns the size of a line of text with its margins; nothing where there is no font.
  std::optional<TextSize> measure (const std::string &text);
  void write (cairo_t *cr, const Box &place, const std::string &text) const;
  void chart (const Box &place, const Chart &chart, gint64 bar_height);
  bool is_free (const Box &place) const;
  /// Returns the free place nearest to the wish.
  std::optional<Box> free_place (const Box &wish) const;
  /// Calls `draw`, in coordinates of the frame, and keeps what falls into the box.
  void paint (const Box &box, const Draw &draw);
  Expected<> paint_tile (const Box &tile, const Draw &draw);

  OverlayCanvas &canvas_;
  const GstVideoRectangle area_;  // of the picture, that is the frame
  const int width_, height_;      // of the frame
  const double stretch_;          // pixels that are as wide as one is high
  const gint64 line_;
  const double font_size_;
  Expected<> outcome_;
  // there from the first text
  std::unique_ptr<cairo_scaled_font_t, void (*) (cairo_scaled_font_t *)> font_;
  std::vector<Box> taken_;        // by charts and labels
  gint64 too_wide_ = G_MAXINT64;  // a label for which there is no room, nor for wider ones
};

}  // namespace integralhist
