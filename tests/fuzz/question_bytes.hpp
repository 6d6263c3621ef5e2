// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Questions out of the bytes of an input: rectangles, grids, models and numbers of every kind. The
// headers of the library say which of them are valid.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "measures.hpp"
#include "question_tensors.hpp"

using Grid = GstIntegralHistogramGrid;
using Rectangle = GstVideoRectangle;

constexpr gint64 kMaxWindows = G_MAXINT / 8;  // that the library takes at once
constexpr gint64 kManyWindows = 1500;         // that a fuzzer has time for

/// Gives the bytes of an input, and then any bytes, which depend on all of the input.
class Bytes {
public:
  Bytes (const guint8 *data, std::size_t size) : at_ (data), end_ (data + size)
  {
    std::seed_seq seeds (at_, end_);
    more_.seed (seeds);
  }

  guint8 byte () { return at_ < end_ ? *at_++ : guint8 (more_ () >> 8); }
  guint below (guint n) { return byte () % n; }
  gint32 word ()
  {
    guint32 word = 0;
    for (int i = 0; i < 4; i++)
      word = word << 8 | byte ();
    return gint32 (word);
  }

  /// Gets a number mostly near the frame, sometimes at the limits, sometimes anywhere.
  int coordinate (int size)
  {
    const std::array<int, 12> limits = {
      G_MININT, G_MININT + 1, -1,           0,        1,       2,
      size,     size + 1,     G_MAXINT - 1, G_MAXINT, 1 << 30, -(1 << 30)
    };
    const guint8 kind = byte ();
    if (kind >= 64)
      return int (byte () * 256u + byte ()) % (size + 12) - 6;
    return kind < 56 ? limits[kind % limits.size ()] : word ();
  }

  /// Gets a number of a model, mostly a valid one.
  float share ()
  {
    constexpr std::array kOdd = { 0.0f,
                                  -0.0f,
                                  1.0f,
                                  std::numeric_limits<float>::denorm_min (),
                                  std::numeric_limits<float>::min (),
                                  std::numeric_limits<float>::max (),
                                  -1.0f,
                                  std::numeric_limits<float>::quiet_NaN (),
                                  std::numeric_limits<float>::infinity (),
                                  -std::numeric_limits<float>::infinity () };
    const guint8 kind = byte ();
    if (kind > 250)
      return kOdd[byte () % kOdd.size ()];
    return kind > 200 ? kOdd[kind % 6] : float (kind);
  }

  /// A number, as a variable of the enum may not hold an invalid value.
  guint measure ()
  {
    const guint8 kind = byte ();
    return kind < 250 ? kind % kMeasures : guint (word ());
  }

  double quantile ()
  {
    constexpr std::array kOdd = { 0.0,
                                  -0.0,
                                  0.5,
                                  1.0,
                                  -1.0,
                                  1.0000001,
                                  std::numeric_limits<double>::quiet_NaN (),
                                  std::numeric_limits<double>::infinity () };
    const guint8 kind = byte ();
    return kind < 200 ? kind / 199.0 : kOdd[kind % kOdd.size ()];
  }

private:
  const guint8 *at_, *const end_;
  std::minstd_rand more_;
};

inline Rectangle rectangle_from (Bytes &bytes, const Picture &picture)
{
  const int x = bytes.coordinate (picture.width), y = bytes.coordinate (picture.height);
  return { x, y, bytes.coordinate (picture.width), bytes.coordinate (picture.height) };
}

inline std::vector<Rectangle> rectangles_from (Bytes &bytes, const Picture &picture, guint most)
{
  std::vector<Rectangle> rectangles (bytes.below (most + 1));
  for (Rectangle &r : rectangles)
    r = rectangle_from (bytes, picture);
  return rectangles;
}

inline bool is_valid (const Grid &grid)
{
  return std::min ({ grid.window_width, grid.window_height, grid.step_x, grid.step_y, grid.columns,
                     grid.rows })
             >= 1
         && gint64 (grid.columns) * grid.rows <= kMaxWindows;
}

/// Makes a grid, with so few windows that the fuzzer has time for it if it is valid.
inline Grid grid_from (Bytes &bytes, const Picture &picture)
{
  const int w = picture.width, h = picture.height;
  Grid grid = { bytes.coordinate (w), bytes.coordinate (h), bytes.coordinate (w),
                bytes.coordinate (h), bytes.coordinate (w), bytes.coordinate (h),
                bytes.coordinate (w), bytes.coordinate (h) };
  if (is_valid (grid) && gint64 (grid.columns) * grid.rows > kManyWindows) {
    grid.columns = 1 + grid.columns % 38;
    grid.rows = 1 + grid.rows % 38;
  }
  return grid;
}

inline std::vector<Grid> grids_from (Bytes &bytes, const Picture &picture)
{
  std::vector<Grid> grids (bytes.below (4));
  for (Grid &grid : grids)
    grid = grid_from (bytes, picture);
  return grids;
}

inline std::vector<float> models_from (Bytes &bytes, gsize n)
{
  std::vector<float> models (n);
  for (float &share : models)
    share = bytes.share ();
  return models;
}

/// Tells whether each run of `bins` numbers is a model for the measure.
inline bool are_models (const std::vector<float> &numbers, gsize bins, guint measure)
{
  if (measure == GST_INTEGRAL_HISTOGRAM_MEASURE_LINEAR)
    return std::ranges::all_of (numbers, [] (float number) { return std::isfinite (number); });
  for (gsize from = 0; from < numbers.size (); from += bins) {
    double sum = 0;
    for (gsize b = 0; b < bins; b++) {
      if (!(numbers[from + b] >= 0) || !std::isfinite (numbers[from + b]))
        return false;
      sum += double (numbers[from + b]);
    }
    if (!(sum > 0))
      return false;
  }
  return true;
}

inline bool is_measure (guint number)
{
  return number < guint (kMeasures);
}

/// Counts the windows of valid grids.
inline gsize count_windows (const std::vector<Grid> &grids)
{
  gsize n = 0;
  for (const Grid &grid : grids)
    n += is_valid (grid) ? gsize (grid.columns) * gsize (grid.rows) : 0;
  return n;
}
