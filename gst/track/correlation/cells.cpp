// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cells.hpp"

namespace integralhist {

static std::vector<int> part_edges_of (double first, double cell_size, int n_cells, int frame_size,
                                       bool rounded)
{
  std::vector<int> edges;
  for (int i = 0; i <= n_cells; i++)
    edges.push_back (inthist::correlation::part_edge (first, cell_size, i, frame_size, rounded));
  return edges;
}

CellEdges CellEdges::of (const CellGrid &grid, int width, int height)
{
  return { part_edges_of (grid.x, grid.width, grid.columns, width, grid.is_rounded ()),
           part_edges_of (grid.y, grid.height, grid.rows, height, grid.is_rounded ()) };
}

void compute_channels (const FrameTensors &frame, const CellGrid &square,
                       std::span<const std::int64_t> gradients, std::span<const std::int64_t> luma,
                       std::vector<float> &channels)
{
  const CellEdges edges = CellEdges::of (square, frame.width (), frame.height ());
  describe (inthist::correlation::SquareSums{ edges.x.data (), edges.y.data (), gradients.data (),
                                              luma.data (),
                                              int (gst_integral_histogram_get_bins (frame.luma)),
                                              cell_factors_of (frame, square) },
            channels);
}

}  // namespace integralhist
