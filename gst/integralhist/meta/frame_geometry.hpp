// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Maps the pixels of a frame that video filters have cropped, scaled, bordered, mirrored or turned
// to the original frame, whose histogram was computed. The maps have rational coefficients, so they
// are exact after any number of filters; only the edges of a queried rectangle are rounded, once.
#pragma once

#include <cstdint>
#include <optional>

#include <gst/video/video.h>

namespace integralhist {

/// The most pixels in a row or a column of a frame, and the limit of coordinates on either side of
/// 0. Products of two such numbers stay far below 2^62, the limit of an AxisMap.
constexpr int kMaxPixels = 1 << 28;

inline bool are_equal (const GstVideoRectangle &a, const GstVideoRectangle &b)
{
  return a.x == b.x && a.y == b.y && a.w == b.w && a.h == b.h;
}

/// Maps a column or row x of one frame to another frame: (scale * x + offset) / divisor. scale is
/// not 0, and divisor is above 0.
struct AxisMap {
  std::int64_t scale = 1, offset = 0, divisor = 1;

  /// Maps a coordinate, and rounds the result to the nearest integer; halves are rounded up.
  std::int64_t nearest (std::int64_t at) const;
  double at (double at) const { return (double (scale) * at + double (offset)) / double (divisor); }
  AxisMap inverse () const;
  /// Returns the map that applies `first`, then this map; nothing if a coefficient exceeds 2^62.
  std::optional<AxisMap> after (const AxisMap &first) const;
  bool operator== (const AxisMap &) const = default;
};

/// How a video filter changed a frame: the rectangle `in` of the input fills the rectangle `out` of
/// the output, which has the size out_width x out_height. The picture is first mirrored, and then
/// turned over the diagonal if `is_turned`, so that columns become rows.
struct FrameStep {
  GstVideoRectangle in, out;
  int out_width, out_height;
  bool mirrors_columns = false, mirrors_rows = false, is_turned = false;
};

class FrameGeometry {
public:
  /// Makes the geometry of a frame that shows the whole original frame, scaled.
  FrameGeometry (int width, int height, int original_width, int original_height);

  /// Returns the geometry of the output of a video filter whose input has this geometry. Returns
  /// nothing if the output shows no pixel of the original frame, if a rectangle of the step is
  /// empty or too large, or if integers of 64 bits cannot convert coordinates exactly.
  std::optional<FrameGeometry> after (const FrameStep &step) const;

  /// Maps a rectangle of this frame to the original frame, rounded to whole pixels and without
  /// parts that this frame does not show. Returns zeros if nothing is left.
  GstVideoRectangle in_original (gint x, gint y, gint width, gint height) const;
  /// Maps a rectangle of the original frame to whole pixels of this frame, also beyond its border.
  GstVideoRectangle in_frame (const GstVideoRectangle &original) const;
  const GstVideoRectangle &visible () const { return visible_; }

  /// A rectangle in pixels, whose edges may lie between pixels.
  struct Edges {
    double left, top, right, bottom;
  };
  Edges in_original (const Edges &edges) const;
  Edges in_frame (const Edges &edges) const;

  bool operator== (const FrameGeometry &other) const;

private:
  // Map columns and rows of this frame to columns and rows of the original frame. If this frame is
  // turned, column_ maps the rows of this frame, and row_ the columns.
  AxisMap column_, row_;
  bool is_turned_ = false;
  GstVideoRectangle visible_;
};

}  // namespace integralhist
