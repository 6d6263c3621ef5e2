// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cells.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gst/track/correlation/channels-inl.hpp"
#include <hwy/foreach_target.h>

#include "channels-inl.hpp"

namespace integralhist {
namespace {

HWY_EXPORT (write_channels);

using inthist::kCellParts;

/// Returns the edges of cells along an axis, within the frame.
std::vector<int> edges_of (double first, double cell, int cells, int frame, bool rounded)
{
  std::vector<int> edges;
  for (int i = 0; i <= cells; i++) {
    const double place = std::clamp (first + i * cell, 0.0, double (frame));
    edges.push_back (int (std::lround (place * (rounded ? 1 : kCellParts)))
                     * (rounded ? kCellParts : 1));
  }
  return edges;
}

/// Makes each number of a plane a mean of it and its neighbours along one way; `step` numbers lie
/// from one to the next.
void smooth (std::vector<float> &cells, std::size_t step, std::size_t other_step, int values)
{
  constexpr float kScale = 1 / (1 + 2 * kNeighbour);
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

}  // namespace

std::array<float, kGrid> hann ()
{
  std::array<float, kGrid> window;
  for (int i = 0; i < kGrid; i++)
    window[i] = float (0.5 - 0.5 * std::cos (2 * std::numbers::pi * (i + 0.5) / kGrid));
  return window;
}

CellEdges CellEdges::of (const CellGrid &grid, int width, int height)
{
  return { edges_of (grid.x, grid.width, grid.columns, width, grid.is_rounded ()),
           edges_of (grid.y, grid.height, grid.rows, height, grid.is_rounded ()) };
}

std::vector<std::int64_t> areas_of (const CellGrid &grid, int width, int height)
{
  const CellEdges edges = CellEdges::of (grid, width, height);
  std::vector<std::int64_t> areas;
  for (int row = 0; row < grid.rows; row++)
    for (int column = 0; column < grid.columns; column++)
      areas.push_back (std::int64_t (edges.x[column + 1] - edges.x[column])
                       * (edges.y[row + 1] - edges.y[row]));
  return areas;
}

std::vector<float> block_norms (std::span<const float> energies, int columns, int rows)
{
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

void describe (const FrameTensors &frame, const CellGrid &grid,
               std::span<const std::int64_t> gradients, std::span<const std::int64_t> luma,
               std::vector<float> &channels)
{
  static const std::array<float, kGrid> window = hann ();
  constexpr int kValues = kDirections + 1;  // and luma
  constexpr std::size_t kRow = std::size_t (kGrid) * kValues;
  static thread_local std::vector<float> cells;  // takes long to allocate
  const auto areas = areas_of (grid, frame.width (), frame.height ());
  const unsigned tables = gst_integral_histogram_get_bins (frame.luma);
  const auto [per_length, per_luma] = CellScale::of (frame, grid);
  cells.resize (grid.size () * kValues);
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
  const auto write = HWY_DYNAMIC_DISPATCH (write_channels);
  channels.resize (grid.size () * kChannels);
  for (int row = 0; row < kGrid; row++)
    for (int column = 0; column < kGrid; column++) {
      const float *const cell = &cells[row * kRow + std::size_t (column) * kValues];
      const float *const corner = &norms[row * (kGrid + 1) + column];
      const float around[4] = { corner[0], corner[1], corner[kGrid + 1], corner[kGrid + 2] };
      write (cell, around, window[row] * window[column],
             &channels[std::size_t (row * kGrid + column) * kChannels]);
    }
}

}  // namespace integralhist
