// SPDX-License-Identifier: LGPL-2.1-or-later
#include "frame_geometry.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace integralhist {
namespace {

// An integer of 128 bits for products of two int64_t, a type that standard C++ lacks.
__extension__ using Wide = __int128;

Wide gcd (Wide a, Wide b)
{
  while (b != 0)
    a = std::exchange (b, a % b);
  return a < 0 ? -a : a;
}

Wide floor_divided (Wide a, Wide positive)
{
  return a / positive - (a % positive < 0 ? 1 : 0);
}

struct Range {
  std::int64_t from, to;
};

Range mapped (const AxisMap &map, std::int64_t from, std::int64_t to)
{
  const std::int64_t a = map.nearest (from), b = map.nearest (to);
  return { std::min (a, b), std::max (a, b) };
}

Range common (const Range &a, const Range &b)
{
  return { std::max (a.from, b.from), std::min (a.to, b.to) };
}

GstVideoRectangle rectangle (const Range &columns, const Range &rows)
{
  if (columns.to <= columns.from || rows.to <= rows.from)
    return {};
  const auto whole = [] (std::int64_t at) {
    return gint (std::clamp<std::int64_t> (at, -kMaxPixels, kMaxPixels));
  };
  return { whole (columns.from), whole (rows.from), whole (columns.to) - whole (columns.from),
           whole (rows.to) - whole (rows.from) };
}

/// Returns the map from output to input coordinates of a video filter that scales `in_length`
/// pixels from `in` on to `out_length` pixels from `out` on, along one axis.
AxisMap scaling_map (int in, int in_length, int out, int out_length, bool mirrored)
{
  const std::int64_t common = std::gcd (in_length, out_length), n = in_length / common,
                     m = out_length / common, i = in, o = out;
  return mirrored ? AxisMap{ -n, (i + in_length) * m + n * o, m } : AxisMap{ n, i * m - n * o, m };
}

FrameGeometry::Edges edges_of (const AxisMap &columns, double x0, double x1, const AxisMap &rows,
                               double y0, double y1)
{
  const auto [left, right] = std::minmax ({ columns.at (x0), columns.at (x1) });
  const auto [top, bottom] = std::minmax ({ rows.at (y0), rows.at (y1) });
  return { left, top, right, bottom };
}

}  // namespace

std::int64_t AxisMap::nearest (std::int64_t at) const
{
  const Wide twice = 2 * (Wide (scale) * at + offset);
  return std::int64_t (floor_divided (twice + divisor, 2 * Wide (divisor)));
}

AxisMap AxisMap::inverse () const
{
  return scale > 0 ? AxisMap{ divisor, -offset, scale } : AxisMap{ -divisor, offset, -scale };
}

std::optional<AxisMap> AxisMap::after (const AxisMap &first) const
{
  // With coefficients of at most 2^62, the products and sums of products below fit 128 bits.
  constexpr Wide kMax = Wide (1) << 62;
  Wide s = Wide (scale) * first.scale, d = Wide (divisor) * first.divisor,
       o = Wide (scale) * first.offset + Wide (offset) * first.divisor;
  const Wide common = gcd (gcd (s, d), o);
  s /= common;
  o /= common;
  d /= common;
  if (s > kMax || s < -kMax || o > kMax || o < -kMax || d > kMax)
    return std::nullopt;
  return AxisMap{ std::int64_t (s), std::int64_t (o), std::int64_t (d) };
}

FrameGeometry::FrameGeometry (int width, int height, int original_width, int original_height)
    : column_{ original_width, 0, width }, row_{ original_height, 0, height }, visible_{
        0, 0, original_width, original_height
      }
{
}

std::optional<FrameGeometry> FrameGeometry::after (const FrameStep &step) const
{
  const auto &[in, out, width, height, mirrors_columns, mirrors_rows, turns] = step;
  for (const GstVideoRectangle &r : { in, out })
    if (r.w <= 0 || r.h <= 0 || std::max (r.w, r.h) > kMaxPixels
        || std::max (std::abs (std::int64_t (r.x)), std::abs (std::int64_t (r.y))) > kMaxPixels)
      return std::nullopt;
  const AxisMap column = turns ? scaling_map (in.x, in.w, out.y, out.h, mirrors_columns)
                               : scaling_map (in.x, in.w, out.x, out.w, mirrors_columns);
  const AxisMap row = turns ? scaling_map (in.y, in.h, out.x, out.w, mirrors_rows)
                            : scaling_map (in.y, in.h, out.y, out.h, mirrors_rows);
  const auto new_column = column_.after (is_turned_ ? row : column);
  const auto new_row = row_.after (is_turned_ ? column : row);
  if (!new_column || !new_row)
    return std::nullopt;
  FrameGeometry now = *this;
  now.column_ = *new_column;
  now.row_ = *new_row;
  now.is_turned_ = is_turned_ != turns;
  const int across = now.is_turned_ ? height : width, down = now.is_turned_ ? width : height;
  // A pixel of the original frame stays visible if it was visible in the filter's input, the filter
  // read it, and it lies within the filter's output.
  const Range read_columns = is_turned_ ? mapped (column_, in.y, std::int64_t (in.y) + in.h)
                                        : mapped (column_, in.x, std::int64_t (in.x) + in.w);
  const Range read_rows = is_turned_ ? mapped (row_, in.x, std::int64_t (in.x) + in.w)
                                     : mapped (row_, in.y, std::int64_t (in.y) + in.h);
  const auto still_shown = [] (int from, int length, const Range &read, const Range &shown) {
    return common (common ({ from, std::int64_t (from) + length }, read), shown);
  };
  now.visible_ = rectangle (
      still_shown (visible_.x, visible_.w, read_columns, mapped (now.column_, 0, across)),
      still_shown (visible_.y, visible_.h, read_rows, mapped (now.row_, 0, down)));
  if (now.visible_.w == 0)
    return std::nullopt;
  return now;
}

GstVideoRectangle FrameGeometry::in_original (gint x, gint y, gint width, gint height) const
{
  if (width <= 0 || height <= 0)
    return {};
  const std::int64_t right = std::int64_t (x) + width, bottom = std::int64_t (y) + height;
  const Range columns = is_turned_ ? mapped (column_, y, bottom) : mapped (column_, x, right);
  const Range rows = is_turned_ ? mapped (row_, x, right) : mapped (row_, y, bottom);
  return rectangle (common (columns, { visible_.x, std::int64_t (visible_.x) + visible_.w }),
                    common (rows, { visible_.y, std::int64_t (visible_.y) + visible_.h }));
}

GstVideoRectangle FrameGeometry::in_frame (const GstVideoRectangle &original) const
{
  const Range columns =
                  mapped (column_.inverse (), original.x, std::int64_t (original.x) + original.w),
              rows = mapped (row_.inverse (), original.y, std::int64_t (original.y) + original.h);
  return is_turned_ ? rectangle (rows, columns) : rectangle (columns, rows);
}

FrameGeometry::Edges FrameGeometry::in_original (const Edges &e) const
{
  return is_turned_ ? edges_of (column_, e.top, e.bottom, row_, e.left, e.right)
                    : edges_of (column_, e.left, e.right, row_, e.top, e.bottom);
}

FrameGeometry::Edges FrameGeometry::in_frame (const Edges &e) const
{
  const AxisMap column = column_.inverse (), row = row_.inverse ();
  return is_turned_ ? edges_of (row, e.top, e.bottom, column, e.left, e.right)
                    : edges_of (column, e.left, e.right, row, e.top, e.bottom);
}

bool FrameGeometry::operator== (const FrameGeometry &other) const
{
  return column_ == other.column_ && row_ == other.row_ && is_turned_ == other.is_turned_
         && are_equal (visible_, other.visible_);
}

}  // namespace integralhist
