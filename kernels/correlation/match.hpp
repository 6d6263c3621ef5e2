// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The best place of a search: the place with the highest sum of the filter's response and the
// colours' response. Each response has a value for each shift by whole cells, [row][column]. Shifts
// to the left and up are negative, and wrap around: row kGrid - 1 is the shift by one cell up. The
// colours' response is the mean score of the box's pixels. It is computed from the integral image
// of the scores of cells, as if the score were constant inside a cell.
#pragma once

#include <cmath>
#include <cstddef>

#include "formulas.hpp"

namespace inthist::correlation {

inline constexpr int kSearchRadius = 10;                       // cells
inline constexpr int kSearchedShifts = 2 * kSearchRadius + 1;  // along an axis
inline constexpr double kColourWeight = 0.55;  // weight of the colours' response in the sum of both

/// Returns the index of a row and a column of a response. Beyond its border, a response wraps
/// around.
HOST_DEVICE inline int index_of (int row, int column)
{
  return (row + kGrid) % kGrid * kGrid + (column + kGrid) % kGrid;
}
/// Returns the shift in cells, maybe negative, that a row or a column of a response stands for.
HOST_DEVICE inline int shift_of (int index)
{
  return index < kGrid / 2 ? index : index - kGrid;
}
/// Returns whether an index of a response is a shift by up to kSearchRadius cells along both axes.
HOST_DEVICE inline bool is_searched (int index)
{
  const int right = shift_of (index % kGrid), down = shift_of (index / kGrid);
  return right >= -kSearchRadius && right <= kSearchRadius && down >= -kSearchRadius
         && down <= kSearchRadius;
}

/// The weights of shifts: the less expected a motion is, the lower is its weight, up to 1.
struct ShiftWeights {
  double along[kGrid];  // along an axis

  /// Returns weights that fall with the distance like a normal distribution, with a standard
  /// deviation of `spread` cells. If `spread` is 0, no motion is known, and all weights are 1.
  static ShiftWeights of_spread (double spread)
  {
    ShiftWeights weights;
    for (int i = 0; i < kGrid; i++)
      weights.along[i] = spread > 0 ? std::exp (-0.5 * std::pow (shift_of (i) / spread, 2)) : 1;
    return weights;
  }
  HOST_DEVICE double of (int index) const { return along[index % kGrid] * along[index / kGrid]; }
};

/// Returns the weighted sum of the filter's response, times 1 / its usual peak, and the colours'
/// score.
HOST_DEVICE inline double combined_response (float response, double per_peak, double score)
{
  return (1 - kColourWeight) * response * per_peak + kColourWeight * score;
}

/// Returns where the parabola through three equally spaced values is highest, relative to the
/// middle value: -0.5 to 0.5.
HOST_DEVICE inline double peak_between (double before, double middle, double after)
{
  const double bend = before - 2 * middle + after;
  if (!(bend < 0))
    return 0;
  const double peak = 0.5 * (before - after) / bend;
  return peak < -0.5 ? -0.5 : peak > 0.5 ? 0.5 : peak;
}

struct CellShift {
  double right, down;
};

/// Returns the exact shift of a response's peak at a row and a column, by parabolas through the
/// neighbours. The function `value` returns the response at an index.
template <class Value>
HOST_DEVICE CellShift peak_near (int row, int column, Value &&value)
{
  const double middle = value (index_of (row, column));
  return { shift_of (column)
               + peak_between (value (index_of (row, column - 1)), middle,
                               value (index_of (row, column + 1))),
           shift_of (row)
               + peak_between (value (index_of (row - 1, column)), middle,
                               value (index_of (row + 1, column))) };
}

/// Sums over the sidelobes of a response: the values that are more than 5 cells away from its peak
/// along an axis.
struct Sidelobes {
  double sum, squares;
  int n;

  HOST_DEVICE static Sidelobes of_row (const float *response, int y, int row, int column)
  {
    constexpr int kNear = 5;
    const auto is_far = [] (int a, int b) {
      const int cells = a > b ? a - b : b - a;
      return (cells < kGrid - cells ? cells : kGrid - cells) > kNear;
    };
    Sidelobes found = {};
    for (int x = 0; x < kGrid; x++)
      if (is_far (y, row) || is_far (x, column)) {
        const double value = response[y * kGrid + x];
        found.sum += value, found.squares += value * value;
        found.n++;
      }
    return found;
  }
  HOST_DEVICE void add (const Sidelobes &other)
  {
    sum += other.sum, squares += other.squares, n += other.n;
  }
  /// Returns how far the peak lies above the mean of the sidelobes, in standard deviations.
  HOST_DEVICE double sharpness (double peak) const
  {
    const double mean = sum / n, variance = squares / n - mean * mean;
    return (peak - mean) / sqrt (variance < 1e-12 ? 1e-12 : variance);
  }
};

inline double sharpness_of (const float *response, int row, int column)
{
  Sidelobes all = {};
  for (int y = 0; y < kGrid; y++)
    all.add (Sidelobes::of_row (response, y, row, column));
  return all.sharpness (response[row * kGrid + column]);
}

/// A place between two edges of cells: the index of the edge before it, and the distance from this
/// edge as a share of the cell, 0 to 1.
struct EdgePosition {
  int edge;
  double share;

  HOST_DEVICE static EdgePosition of (const int *edges, int n, double at)
  {
    if (n < 2 || at <= edges[0])
      return { 0, 0 };
    if (at >= edges[n - 1])
      return { n - 2, 1 };
    int first = 0, last = n - 1;  // binary search
    while (last - first > 1) {
      const int middle = (first + last) / 2;
      if (edges[middle] <= at)
        first = middle;
      else
        last = middle;
    }
    return { first, (at - edges[first]) / (edges[first + 1] - edges[first]) };
  }
};

/// The positions at which a box begins and ends along an axis, among the edges of cells.
struct EdgeRange {
  EdgePosition begin, end;

  HOST_DEVICE static EdgeRange of (const int *edges, int n, double middle, double length,
                                   double edge_unit)
  {
    return { EdgePosition::of (edges, n, (middle - length / 2) * edge_unit),
             EdgePosition::of (edges, n, (middle + length / 2) * edge_unit) };
  }
};

/// The integral image of the scores of cells, which gives the mean score of any box.
struct ScoreSums {
  const int *x, *y;  // edges of the cells
  double edge_unit;  // units of the cells' edges in a pixel, a power of 2
  int n_x, n_y;
  const double *at_edges;  // sum of the scores above and left of each corner

  /// Returns the sum of the scores above and left of a place, interpolated inside a cell.
  HOST_DEVICE double before (const EdgePosition &right, const EdgePosition &bottom) const
  {
    const double *const at = at_edges + bottom.edge * n_x + right.edge;
    return (1 - bottom.share) * ((1 - right.share) * at[0] + right.share * at[1])
           + bottom.share * ((1 - right.share) * at[n_x] + right.share * at[n_x + 1]);
  }
  HOST_DEVICE EdgeRange columns_of (double middle, double width) const
  {
    return EdgeRange::of (x, n_x, middle, width, edge_unit);
  }
  HOST_DEVICE EdgeRange rows_of (double middle, double height) const
  {
    return EdgeRange::of (y, n_y, middle, height, edge_unit);
  }
  /// Returns the mean score of a box's pixels, 0 to 1. Beyond the cells the score is 0.
  HOST_DEVICE double mean (const EdgeRange &columns, const EdgeRange &rows, double width,
                           double height) const
  {
    if (n_x < 2 || n_y < 2)
      return 0;
    return (before (columns.end, rows.end) - before (columns.begin, rows.end)
            - before (columns.end, rows.begin) + before (columns.begin, rows.begin))
           / (255 * width * height);
  }
  HOST_DEVICE double mean (double middle_x, double middle_y, double width, double height) const
  {
    return mean (columns_of (middle_x, width), rows_of (middle_y, height), width, height);
  }
};

struct Centre {
  double x, y;
};
inline constexpr std::size_t kMaxCandidates = 3;  // most places from search_frame ()

/// The best place of a search, with the filter's response, the sharpness of the response's peak
/// (Sidelobes), and the score of the colours.
struct Match {
  double x, y;  // middle of the box
  double peak;
  double sharpness;
  double score;
};

}  // namespace inthist::correlation
