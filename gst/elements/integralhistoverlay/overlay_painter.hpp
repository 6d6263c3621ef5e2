// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Draws outlines, labels, bar charts and trails with cairo. Needs no elements or metas.
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
#include <gst/frame/point.hpp>
#include <gst/integralhist/api/histogram.hpp>
#include <gst/integralhist/base/error.hpp>

namespace integralhist {

struct Colour {
  double red, green, blue;
};

inline constexpr Colour kWhite = { 1, 1, 1 };

/// A box in pixels of the frame; it may lie outside the frame.
struct Box {
  gint64 x, y, width, height;

  gint64 right () const { return x + width; }
  gint64 bottom () const { return y + height; }
};

/// The bar chart of a histogram. If the caption is too wide, only its last word is written. If
/// `bins` has the bins' colours, bars have these, and end in a line of `colour`.
struct Chart {
  Colour colour;
  std::string caption;          // may be empty
  std::vector<guint64> counts;  // or weights
  std::vector<Colour> bins;     // may be empty
};

/// Returns the colours that bins of this feature stand for, in the middle of each bin; empty for
/// other features, and with a lookup table.
std::vector<Colour> bin_colours (const HistogramSpec &spec, int bins);

/// Returns the part of a box inside a frame of this size; all zero if the box lies outside.
Box visible (const Box &box, gint64 width, gint64 height);

class OverlayPainter {
public:
  /// Draws on the frame that is the `area` of a picture. `info` gives the shape of pixels. With a
  /// `line_width` of 0, lines are as wide as suits the frame's height.
  OverlayPainter (OverlayCanvas &canvas, const GstVideoInfo &info, const GstVideoRectangle &area,
                  unsigned line_width);

  /// Returns the first failure of a drawing; after a failure nothing more is drawn.
  const Expected<> &outcome () const { return outcome_; }

  /// Draws the outline of a box just inside the box's border, with a dark seam.
  void outline (const Box &box, const Colour &colour);
  /// Draws a bar chart for each box, in a row along the lower edge of the frame, or along the upper
  /// edge if that hides fewer boxes. The highest bar is a chart's largest count. The number of
  /// charts that do not fit, for which `chart_of` is not called, and the note come last.
  /// `has_captions` reserves room for captions.
  Expected<> charts (std::span<const Box> boxes, bool has_captions, const std::string &note,
                     const std::function<Expected<Chart> (std::size_t)> &chart_of);
  /// Writes a label (valid UTF-8) above a box, or else below the box, in it, or as near as there is
  /// room. Labels hide neither each other nor charts. Without room or font, writes nothing.
  void label (const Box &box, const Colour &colour, const std::string &text);
  /// Draws a trail from the oldest point, where the line is faintest, to the newest.
  void trail (std::span<const Point> points, const Colour &colour, double opacity);

private:
  using Draw = std::function<void (cairo_t *)>;
  struct TextSize {
    gint64 width, height;
  };

  /// Returns how many columns of pixels look as wide as `rows` rows are high, at least one.
  gint64 in_width (gint64 rows) const;
  double text_margin () const { return std::round (font_size_ / 4) * stretch_; }
  void frame (const Box &box, gint64 across, const Colour &colour, double opacity);
  void fill (const Box &box, const Colour &colour, double opacity);
  /// Returns the size in pixels of a line of text with margins; nothing if there is no font.
  std::optional<TextSize> measure (const std::string &text);
  void write (cairo_t *cr, const Box &place, const std::string &text) const;
  void chart (const Box &place, const Chart &chart, gint64 bar_height);
  void write_note (const Box &place, const std::string &more, const std::string &note);
  bool is_free (const Box &place) const;
  /// Returns the place for a label that is free and nearest to the box `wish`.
  std::optional<Box> free_place (const Box &wish) const;
  /// Runs a cairo drawing in coordinates of the frame, and keeps only what falls into the box.
  void paint (const Box &box, const Draw &draw);
  Expected<> paint_tile (const Box &tile, const Draw &draw);

  OverlayCanvas &canvas_;
  const GstVideoRectangle area_;  // the frame within the picture
  const int width_, height_;      // of the frame
  const double stretch_;          // how many pixels are as wide as one pixel is high
  const gint64 line_;
  const double font_size_;
  Expected<> outcome_;
  // loaded with the first text
  std::unique_ptr<cairo_scaled_font_t, void (*) (cairo_scaled_font_t *)> font_;
  std::vector<Box> taken_;        // where charts and labels are
  gint64 too_wide_ = G_MAXINT64;  // a label of this width or more found no room
};

}  // namespace integralhist
