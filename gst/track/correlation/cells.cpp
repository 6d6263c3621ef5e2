// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cells.hpp"

#include <algorithm>
#include <cmath>

namespace integralhist {
namespace {

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

}  // namespace

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

void describe (const FrameTensors &frame, const CellGrid &square,
               std::span<const std::int64_t> gradients, std::span<const std::int64_t> luma,
               std::vector<float> &channels)
{
  describe (SquareSums{ gradients, luma, gst_integral_histogram_get_bins (frame.luma),
                        areas_of (square, frame.width (), frame.height ()),
                        scale_of (frame, square) },
            channels);
}

}  // namespace integralhist
