// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cells.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "asked.hpp"

namespace integralhist {
namespace {

constexpr int kFine = 256;  // places of an edge in a pixel

/// The edges of cells along an axis, and the whole places that they lie on or between.
struct Axis {
  std::vector<int> lines;     // the whole places, in order; the first is where sums begin
  std::vector<int> at;        // of each edge, the line before it
  std::vector<int> fraction;  // and how far behind that it lies, in 1/kFine

  Axis (double first, double cell, int cells, int frame, bool rounded)
  {
    std::vector<int> whole;
    for (int i = 0; i <= cells; i++) {
      const double place = std::clamp (first + i * cell, 0.0, double (frame));
      const int fine = int (std::lround (place * (rounded ? 1 : kFine))) * (rounded ? kFine : 1);
      const int before = fine / kFine;
      whole.push_back (before);
      fraction.push_back (fine - before * kFine);
      for (int line = before; line <= before + (fraction.back () > 0); line++)
        if (lines.empty () || lines.back () < line)
          lines.push_back (line);
    }
    for (const int line : whole)
      at.push_back (int (std::ranges::lower_bound (lines, line) - lines.begin ()));
  }
  /// Returns the place of an edge, in 1/kFine.
  std::int64_t place (int edge) const
  {
    return std::int64_t (lines[at[edge]]) * kFine + fraction[edge];
  }
};

struct Axes {
  Axis x, y;
  Axes (const CellGrid &grid, int width, int height)
      : x (grid.x, grid.width, grid.columns, width, grid.is_rounded ()),
        y (grid.y, grid.height, grid.rows, height, grid.is_rounded ())
  {
  }
};

/// Adds the rectangles between neighbouring lines. They share no pixel: small ones are counted.
void add_rectangles (const Axes &axes, std::vector<GstVideoRectangle> &rectangles)
{
  const auto &xs = axes.x.lines, &ys = axes.y.lines;
  for (std::size_t j = 1; j < ys.size (); j++)
    for (std::size_t i = 1; i < xs.size (); i++)
      rectangles.push_back ({ xs[i - 1], ys[j - 1], xs[i] - xs[i - 1], ys[j] - ys[j - 1] });
}

/// A rectangle between lines that lies in a cell, and how much of its side does, in 1/kFine.
struct Share {
  std::size_t rectangle;
  std::int64_t of_side;
};

/// Returns the shares of each cell along an axis. What lies between two edges is the same with
/// them: a cell has part of the pixels that an edge goes through, and all between.
std::vector<std::vector<Share>> shares_along (const Axis &axis)
{
  std::vector<std::vector<Share>> cells (axis.at.size () - 1);
  for (std::size_t cell = 0; cell < cells.size (); cell++)
    for (int i = axis.at[cell]; i + 1 < int (axis.lines.size ()); i++) {
      const std::int64_t first = std::int64_t (axis.lines[i]) * kFine,
                         end = std::int64_t (axis.lines[i + 1]) * kFine,
                         inside = std::min (end, axis.place (int (cell) + 1))
                                  - std::max (first, axis.place (int (cell)));
      if (inside <= 0)
        break;
      // a rectangle that is cut is one pixel wide
      cells[cell].push_back ({ std::size_t (i), inside == end - first ? kFine : inside });
    }
  return cells;
}

/// Adds n numbers times kFine, or a part of it. Most are of whole pixels, which is a shift.
template <class Number>
void add_share (const Number *__restrict from, std::int64_t of_side, std::size_t n,
                std::int64_t *__restrict to)
{
  if (of_side == kFine)
    for (std::size_t i = 0; i < n; i++)
      to[i] += std::int64_t (from[i]) * kFine;
  else
    for (std::size_t i = 0; i < n; i++)
      to[i] += std::int64_t (from[i]) * of_side;
}

/// Writes what the cells of a grid have; `sums` are of its rectangles. Returns the next sums.
const guint64 *write_cells (const Axes &axes, const guint64 *sums, int bins, std::int64_t *cells)
{
  const std::size_t across = (axes.x.lines.size () - 1) * std::size_t (bins);
  const auto xs = shares_along (axes.x), ys = shares_along (axes.y);
  std::vector<std::int64_t> row (across);
  for (const auto &shares_y : ys) {
    std::ranges::fill (row, 0);
    for (const auto &[j, of_side] : shares_y)
      add_share (sums + j * across, of_side, across, row.data ());
    for (const auto &shares_x : xs) {
      for (const auto &[i, of_side] : shares_x)
        add_share (&row[i * std::size_t (bins)], of_side, std::size_t (bins), cells);
      cells += bins;
    }
  }
  return sums + across * (axes.y.lines.size () - 1);
}

/// Makes each number of a plane a mean of it and its neighbours along one way; `step` numbers lie
/// from one to the next.
void smooth (std::vector<float> &cells, std::size_t step, std::size_t other_step, int values)
{
  constexpr float kNeighbour = 0.3F, kScale = 1 / (1 + 2 * kNeighbour);
  std::vector<float> line (std::size_t (kGrid + 2) * values);  // with nothing at both ends
  for (int other = 0; other < kGrid; other++) {
    for (int i = 0; i < kGrid; i++)
      std::copy_n (&cells[other * other_step + i * step], values, &line[(i + 1) * values]);
    for (int i = 0; i < kGrid; i++)
      for (int v = 0; v < values; v++) {
        const float *const at = &line[(i + 1) * values + v];
        cells[other * other_step + i * step + v] =
            (at[0] + kNeighbour * (at[-values] + at[values])) * kScale;
      }
  }
}

std::array<float, kGrid> hann ()
{
  std::array<float, kGrid> window;
  for (int i = 0; i < kGrid; i++)
    window[i] = float (0.5 - 0.5 * std::cos (2 * std::numbers::pi * (i + 0.5) / kGrid));
  return window;
}

}  // namespace

Expected<std::vector<std::int64_t>> ask_cells (GstIntegralHistogram *histogram,
                                               std::span<const CellGrid> grids)
{
  const int width = int (gst_integral_histogram_get_width (histogram)),
            height = int (gst_integral_histogram_get_height (histogram)),
            bins = int (gst_integral_histogram_get_bins (histogram));
  std::vector<Axes> axes;
  std::vector<GstVideoRectangle> rectangles;
  std::size_t n = 0;
  for (const CellGrid &grid : grids) {
    axes.emplace_back (grid, width, height);
    add_rectangles (axes.back (), rectangles);
    n += grid.size () * std::size_t (bins);
  }
  std::vector<std::int64_t> cells (n);
  if (rectangles.empty ())  // all outside of the frame
    return cells;
  const auto sums = TRY (sums_of (histogram, rectangles));
  const guint64 *next = sums.data ();
  std::int64_t *to = cells.data ();
  for (std::size_t i = 0; i < grids.size (); i++) {
    next = write_cells (axes[i], next, bins, to);
    to += grids[i].size () * std::size_t (bins);
  }
  return cells;
}

std::vector<std::int64_t> areas_of (const CellGrid &grid, int width, int height)
{
  const Axes axes (grid, width, height);
  std::vector<std::int64_t> areas;
  for (int row = 0; row < grid.rows; row++)
    for (int column = 0; column < grid.columns; column++)
      areas.push_back ((axes.x.place (column + 1) - axes.x.place (column))
                       * (axes.y.place (row + 1) - axes.y.place (row)));
  return areas;
}

std::vector<float> block_norms (std::span<const float> energies, int columns, int rows)
{
  constexpr float kFlat = 1;  // square of gray levels a pixel: noise is not made an edge
  std::vector<float> norms;
  for (int y = 0; y <= rows; y++)
    for (int x = 0; x <= columns; x++) {
      const int above = std::max (0, y - 1) * columns, below = std::min (rows - 1, y) * columns;
      const int left = std::max (0, x - 1), right = std::min (columns - 1, x);
      norms.push_back (1
                       / std::sqrt (energies[above + left] + energies[above + right]
                                    + energies[below + left] + energies[below + right] + kFlat));
    }
  return norms;
}

float clipped_sum (float value, const float norms[4])
{
  constexpr float kMost = 0.2F;
  float sum = 0;
  for (int k = 0; k < 4; k++)
    sum += std::min (value * norms[k], kMost);
  return sum;
}

Expected<std::vector<float>> describe (const FrameTensors &frame, double x, double y, double side)
{
  static const std::array<float, kGrid> window = hann ();
  constexpr int kValues = kDirections + 1;  // and luma
  constexpr std::size_t kRow = std::size_t (kGrid) * kValues;
  const CellGrid grid = CellGrid::around (x, y, side, side, kGrid, kGrid);
  const auto gradients = TRY (ask_cells (frame.gradients, std::span (&grid, 1)));
  const auto luma = TRY (ask_cells (frame.luma, std::span (&grid, 1)));
  const auto areas = areas_of (grid, frame.width (), frame.height ());
  const unsigned tables = gst_integral_histogram_get_bins (frame.luma);
  // mean gray levels a pixel, and luma from -0.5 to 0.5
  const double unit = gst_integral_histogram_get_weight_unit (frame.gradients);
  const double pixels = grid.width * grid.height * kCellUnit;
  const auto per_length = float (1 / (pixels * unit)), per_luma = float (1 / (pixels * 256));
  std::vector<float> cells (grid.size () * kValues);
  for (std::size_t i = 0; i < grid.size (); i++) {
    for (int b = 0; b < kDirections; b++)
      cells[i * kValues + b] = float (gradients[i * kDirections + b]) * per_length;
    cells[i * kValues + kDirections] = float (luma[i * tables] - 128 * areas[i]) * per_luma;
  }
  smooth (cells, kValues, kRow, kValues);
  smooth (cells, kRow, kValues, kValues);

  std::vector<float> energies;
  for (std::size_t i = 0; i < grid.size (); i++) {
    float energy = 0;
    for (int b = 0; b < kOrientations; b++) {
      const float both = cells[i * kValues + b] + cells[i * kValues + b + kOrientations];
      energy += both * both;
    }
    energies.push_back (energy);
  }
  const auto norms = block_norms (energies, kGrid, kGrid);
  std::vector<float> channels (grid.size () * kChannels);
  for (int row = 0; row < kGrid; row++)
    for (int column = 0; column < kGrid; column++) {
      const float *const cell = &cells[row * kRow + std::size_t (column) * kValues];
      const float *const corner = &norms[row * (kGrid + 1) + column];
      const float around[4] = { corner[0], corner[1], corner[kGrid + 1], corner[kGrid + 2] };
      const float fade = window[row] * window[column];
      float *to = &channels[std::size_t (row * kGrid + column) * kChannels];
      for (int b = 0; b < kDirections; b++)
        *to++ = 0.5F * clipped_sum (cell[b], around) * fade;
      for (int b = 0; b < kOrientations; b++)
        *to++ = 0.5F * clipped_sum (cell[b] + cell[b + kOrientations], around) * fade;
      for (const float norm : around) {
        float sum = 0;
        for (int b = 0; b < kDirections; b++)
          sum += std::min (cell[b] * norm, 0.2F);
        *to++ = 0.2357F * sum * fade;  // 1 / sqrt (18)
      }
      *to++ = cell[kDirections] * fade;
    }
  return channels;
}

}  // namespace integralhist
