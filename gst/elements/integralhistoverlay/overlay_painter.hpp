// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Outlines, labels, bar charts and trails on a video frame, with cairo. This code knows neither
// elements nor metas.
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

/// A box in pixels; it may lie outside the frame.
struct Box {
  gint64 x, y, width, height;

  gint64 right () const { return x + width; }
  gint64 bottom () const { return y + height; }
};

/// The bar chart of a histogram, and the text above it.
struct Chart {
  Colour colour;
  std::string caption;          // may be empty; if it is too wide, only its last word is written
  std::vector<guint64> counts;  // or weights
  std::vector<Colour> bins;     // of the bars, which then end in a line of `colour`; may be empty
};

/// Returns the part of the box inside a frame of this size; all zero if it lies outside.
Box visible (const Box &box, gint64 width, gint64 height);

/// Draws on one frame, which is the `area` of a picture.
class OverlayPainter {
public:
  /// `info` gives the shape of pixels. With a `line_width` of 0 the width of lines follows the
  /// frame's height.
  OverlayPainter (OverlayCanvas &canvas, const GstVideoInfo &info, const GstVideoRectangle &area,
                  unsigned line_width);

  /// Returns the first failure; after it nothing is drawn.
  const Expected<> &outcome () const { return outcome_; }

  /// Outlines the box, inside its border, with a dark seam.
  void outline (const Box &box, const Colour &colour);
  /// Draws a chart for each box, from `chart_of`, in a row along the lower edge of the frame, or
  /// along the upper edge if that hides less of the boxes. The highest bar of each chart is the
  /// chart's largest count. If not all charts fit, the row ends with the number of charts left out,
  /// for which `chart_of` is not called. If there is room, the note comes last. `has_captions`
  /// reserves room for captions.
  Expected<> charts (std::span<const Box> boxes, bool has_captions, const std::string &note,
                     const std::function<Expected<Chart> (std::size_t)> &chart_of);
  /// Writes valid UTF-8 above the box. If there is no room, writes it below or in the box, or as
  /// near to the box as there is room. Labels hide neither each other nor charts. Writes nothing if
  /// there is no room or no font.
  void label (const Box &box, const Colour &colour, const std::string &text);
  /// Draws a line from the oldest point, which is the faintest, to the newest.
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
  /// Returns the size of a line of text with its margins; nothing if there is no font.
  std::optional<TextSize> measure (const std::string &text);
  void write (cairo_t *cr, const Box &place, const std::string &text) const;
  void chart (const Box &place, const Chart &chart, gint64 bar_height);
  bool is_free (const Box &place) const;
  /// Returns the free place nearest to `wish`.
  std::optional<Box> free_place (const Box &wish) const;
  /// Calls `draw`, in coordinates of the frame, and keeps only what falls into the box.
  void paint (const Box &box, const Draw &draw);
  Expected<> paint_tile (const Box &tile, const Draw &draw);

  OverlayCanvas &canvas_;
  const GstVideoRectangle area_;  // the part of the picture that is the frame
  const int width_, height_;      // of the frame
  const double stretch_;          // pixels that are as wide as one is high
  const gint64 line_;
  const double font_size_;
  Expected<> outcome_;
  // loaded with the first text
  std::unique_ptr<cairo_scaled_font_t, void (*) (cairo_scaled_font_t *)> font_;
  std::vector<Box> taken_;        // the places of charts and labels
  gint64 too_wide_ = G_MAXINT64;  // a label for which there is no room, nor for wider ones
};

}  // namespace integralhist
