// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where a frame's pixels lie in the frame that was computed, after crops, scaling, borders, flips
// and turns. The map is exact: a rational number for each axis, however many steps there were. Only
// a query rounds, each of its edges once.
#pragma once

#include <cstdint>
#include <optional>

#include <gst/video/video.h>

namespace integralhist {

/// The most pixels in a row or a column; products of two stay far below 2^62. Places of any frame
/// are within as many on either side.
constexpr int kMaxPixels = 1 << 28;

/// A coordinate of one frame as one of another: (scale * at + offset) / divisor.
struct AxisMap {
  std::int64_t scale = 1, offset = 0, divisor = 1;  // divisor > 0, scale != 0

  /// Returns the nearest integer; halves go up.
  std::int64_t nearest (std::int64_t at) const;
  double at (double at) const { return (double (scale) * at + double (offset)) / double (divisor); }
  /// Returns the map back.
  AxisMap inverse () const;
  /// Returns this map of what `first` gives; nothing where the numbers get too large.
  std::optional<AxisMap> after (const AxisMap &first) const;
  bool operator== (const AxisMap &) const = default;
};

/// What a filter did: the picture in `in`, a rectangle of its input, fills `out`, a rectangle of
/// its output. It is first mirrored in its own columns and rows, and then turned over the diagonal,
/// so that columns become rows.
struct FrameStep {
  GstVideoRectangle in, out;
  int out_width, out_height;
  bool mirrors_columns = false, mirrors_rows = false, is_turned = false;
};

class FrameGeometry {
public:
  /// A frame that shows all of the original, scaled.
  FrameGeometry (int width, int height, int original_width, int original_height);

  /// Returns where the output of a filter has its pixels from, for a frame of this geometry.
  /// Nothing where none of them is the original's, or where that cannot be said exactly.
  std::optional<FrameGeometry> after (const FrameStep &step) const;

  /// Returns the rectangle of the original that is nearest to one of the frame, without what the
  /// frame does not show; all zero where nothing is left.
  GstVideoRectangle in_original (gint x, gint y, gint width, gint height) const;
  /// Returns the rectangle of the frame that is nearest to one of the original. It may hang out of
  /// the frame.
  GstVideoRectangle in_frame (const GstVideoRectangle &original) const;
  /// Returns the part of the original that the frame shows.
  const GstVideoRectangle &visible () const { return visible_; }

  /// A rectangle whose edges are no whole pixels.
  struct Edges {
    double left, top, right, bottom;
  };
  Edges in_original (const Edges &edges) const;
  Edges in_frame (const Edges &edges) const;

  bool operator== (const FrameGeometry &other) const;

  /// Returns how many pixels of the original a pixel of the frame has in its columns, and rows.
  double across () const;
  double down () const;

private:
  AxisMap column_, row_;    // of the original, from a column and a row of the frame,
  bool is_turned_ = false;  // or from a row and a column
  GstVideoRectangle visible_;
};

}  // namespace integralhist
