// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Cells: rectangles side by side whose edges may lie inside pixels. A pixel counts for a cell with
// the part of the pixel's area that lies inside the cell. So a cell's value is a weighted sum of
// pixels. The sum is an exact integer, because edges are rounded to 1/kCellParts pixel, and no
// picture is resampled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "binning.hpp"
#include "inthist.hpp"

namespace inthist {

/// Parts of a pixel's side that edges are rounded to.
inline constexpr int kCellParts = 256;

/// Cells in rows. Edges are in 1/kCellParts pixel, in order and inside of the frame; a cell may be
/// empty.
struct Cells {
  std::span<const int> x, y;  // one more than there are columns, and rows

  int columns () const { return int (x.size ()) - 1; }
  int rows () const { return int (y.size ()) - 1; }
  std::size_t size () const { return std::size_t (columns ()) * std::size_t (rows ()); }
  /// Returns the width of the widest column of cells in pixels, or one more.
  int widest () const
  {
    int most = 0;
    for (int i = 0; i < columns (); i++)
      most = std::max (most, (x[i + 1] - x[i]) / kCellParts + 1);
    return most;
  }
  /// Returns the rectangle of all pixels that a cell has a part of.
  Region around () const
  {
    const int x0 = x.front () / kCellParts, y0 = y.front () / kCellParts;
    return { x0, y0, divide_up (x.back (), kCellParts) - x0,
             divide_up (y.back (), kCellParts) - y0 };
  }
};

/// Scores of bins. A cell has their sum over its pixels instead of a number for each bin.
using Scores = std::span<const std::uint8_t>;

namespace cpu {
/// Adds up the cells from the pixels of a frame of this shape. The pixels are as for answer_pixels
/// () (query.hpp). The sums are [cell][plane], in 1/kCellParts^2. With scores, which need
/// Content::bins, there is one number for each cell, and bins after the last score count 0. Columns
/// are at most kMaxCellColumns pixels wide. Returns 0, ENOMEM or EAGAIN.
[[nodiscard]] int add_up_cells (const Binning &binning, const Shape &shape, const Cells &cells,
                                Scores scores, std::int64_t *sums);
inline constexpr int kMaxCellColumns = 4000;
}  // namespace cpu

namespace cuda {
/// A grid of cells in device memory.
struct CellsOnDevice {
  const int *x, *y;  // as in Cells
  int columns, rows, widest;
  // The number that a pixel of each value adds, [plane][value]. Not used if pixels have weights.
  const std::uint16_t *value_weights;
  std::int64_t *sums;  // [cell][plane]
};

struct CellGrids {
  const CellsOnDevice *grids;
  int n, most_columns, most_rows;
};

/// Adds up the cells of many grids, from the values that bin_image () made of a frame of this
/// shape. The sums are the same as from cpu::add_up_cells (). With weights, a row of cells has at
/// most kMaxCellSums numbers. Columns are as wide as on the CPU.
[[nodiscard]] int add_up_cells (PixelPlane values, const Shape &shape, const CellGrids &grids,
                                Stream stream);
inline constexpr int kMaxCellSums = 4096;

/// Counts the bins of windows in the frame: [window][bin]. Values are bytes.
[[nodiscard]] int count_windows (PixelPlane values, const Lut &lut, int bins, const Region *windows,
                                 int n, std::uint32_t *counts, Stream stream);
}  // namespace cuda

}  // namespace inthist
