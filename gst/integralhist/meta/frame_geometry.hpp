// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Maps a frame's pixels to the frame that was computed, after crops, scaling, borders, flips and
// turns. The map is exact: a rational number for each axis, after any number of steps. Only a query
// rounds, each of its edges once.
#pragma once

#include <cstdint>
#include <optional>

#include <gst/video/video.h>

namespace integralhist {

/// The most pixels in a row or a column; products of two stay far below 2^62. Positions in any
/// frame are within the same number on either side of 0.
constexpr int kMaxPixels = 1 << 28;

/// Maps a coordinate of one frame to another: (scale * at + offset) / divisor.
struct AxisMap {
  std::int64_t scale = 1, offset = 0, divisor = 1;  // divisor > 0, scale != 0

  /// Returns the integer nearest to the mapped coordinate; halves are rounded up.
  std::int64_t nearest (std::int64_t at) const;
  double at (double at) const { return (double (scale) * at + double (offset)) / double (divisor); }
  /// Returns the inverse map.
  AxisMap inverse () const;
  /// Returns the map that first applies `first` and then this map. Returns nothing if the numbers
  /// get too large.
  std::optional<AxisMap> after (const AxisMap &first) const;
  bool operator== (const AxisMap &) const = default;
};

/// The change that a filter made: the rectangle `in` of the input fills the rectangle `out` of the
/// output. The picture is first mirrored in its own columns and rows, and then turned over the
/// diagonal, so that columns become rows.
struct FrameStep {
  GstVideoRectangle in, out;
  int out_width, out_height;
  bool mirrors_columns = false, mirrors_rows = false, is_turned = false;
};

class FrameGeometry {
public:
  /// Makes a frame that shows all of the original, scaled.
  FrameGeometry (int width, int height, int original_width, int original_height);

  /// Returns the geometry of a filter's output if this is that of its input. Returns nothing if no
  /// pixel of the output comes from the original, or if the map is not exact.
  std::optional<FrameGeometry> after (const FrameStep &step) const;

  /// Returns the rectangle of the original that is nearest to a rectangle of the frame, without
  /// parts that the frame does not show; all zero if nothing is left.
  GstVideoRectangle in_original (gint x, gint y, gint width, gint height) const;
  /// Returns the rectangle of the frame that is nearest to a rectangle of the original. It may
  /// extend over the border of the frame.
  GstVideoRectangle in_frame (const GstVideoRectangle &original) const;
  /// Returns the part of the original that the frame shows.
  const GstVideoRectangle &visible () const { return visible_; }

  /// A rectangle whose edges may lie between pixels.
  struct Edges {
    double left, top, right, bottom;
  };
  Edges in_original (const Edges &edges) const;
  Edges in_frame (const Edges &edges) const;

  bool operator== (const FrameGeometry &other) const;

  /// Returns how many pixels of the original one pixel of the frame covers, across and down.
  double across () const;
  double down () const;

private:
  AxisMap column_, row_;    // map a column and a row of the frame to the original
  bool is_turned_ = false;  // if true, column_ maps a row, and row_ a column
  GstVideoRectangle visible_;
};

}  // namespace integralhist
