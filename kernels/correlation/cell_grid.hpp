// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Grids of cells, which are rectangles anywhere in a frame. CPUs and GPUs round edges alike.
#pragma once

#include <cmath>
#include <cstddef>

#include "../cells.hpp"
#include "../host_device.hpp"

namespace inthist::correlation {

/// The number that one whole pixel of score 1 adds to the sum of a cell. Sums count in parts of a
/// pixel (kCellParts in kernels/cells.hpp).
inline constexpr double kCellUnit = kCellParts * kCellParts;

/// A grid of cells of one size, measured in pixels.
struct CellGrid {
  double x, y;           // the left top corner
  double width, height;  // of a cell
  int columns, rows;

  /// Returns whether the cells' edges are rounded to whole pixels, which is faster for large cells.
  HOST_DEVICE bool is_rounded () const
  {
    constexpr double kLarge = 8;
    return width >= kLarge && height >= kLarge;
  }
  std::size_t size () const { return std::size_t (columns) * std::size_t (rows); }
  static CellGrid around (double x, double y, double width, double height, int columns, int rows)
  {
    return { x - width / 2, y - height / 2, width / columns, height / rows, columns, rows };
  }
};

/// Returns the i-th edge of cells along an axis, clipped to the frame, in 1/kCellParts pixel.
HOST_DEVICE inline int part_edge (double first, double cell_size, int i, int frame_size,
                                  bool rounded)
{
  const double at = first + i * cell_size, place = at < 0                     ? 0
                                                   : at > double (frame_size) ? double (frame_size)
                                                                              : at;
  return int (lround (place * (rounded ? 1 : kCellParts))) * (rounded ? kCellParts : 1);
}

/// Writes the edges of cells along an axis, rounded to whole pixels and clipped to the frame, each
/// only once. Returns the number of written edges: up to n_cells + 1.
HOST_DEVICE inline int write_pixel_edges (double first, double cell_size, int n_cells,
                                          int frame_size, int *edges)
{
  int n = 0;
  for (int i = 0; i <= n_cells; i++) {
    const long at = lround (first + i * cell_size);
    const int edge = at < 0 ? 0 : at > frame_size ? frame_size : int (at);
    if (n == 0 || edges[n - 1] < edge)
      edges[n++] = edge;
  }
  return n;
}

}  // namespace inthist::correlation
