// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Cells: rectangles side by side in a frame, whose edges may lie inside pixels. The value of a cell
// is a weighted sum of pixels: the weight of a pixel is the part of its area that lies inside the
// cell. The sum is an exact integer, because edges are rounded to 1/kCellParts pixel, and no
// picture is resampled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "binning.hpp"
#include "inthist.hpp"

namespace inthist {

/// The edges of cells are integers in units of 1/kCellParts pixel.
inline constexpr int kCellParts = 256;

/// A grid of cells (rectangles) in a frame. The edges of its columns (x) and rows (y) are in
/// 1/kCellParts pixel, in order and inside the frame. A cell may be empty.
struct Cells {
  std::span<const int> x, y;  // edges of cells: one more than there are columns or rows

  int columns () const { return int (x.size ()) - 1; }
  int rows () const { return int (y.size ()) - 1; }
  std::size_t size () const { return std::size_t (columns ()) * std::size_t (rows ()); }
  /// Returns the width in pixels of the widest column of cells, or one more.
  int widest () const
  {
    int most = 0;
    for (int i = 0; i < columns (); i++)
      most = std::max (most, (x[i + 1] - x[i]) / kCellParts + 1);
    return most;
  }
  /// Returns the rectangle of all pixels that lie in a cell at least partly.
  Region around () const
  {
    const int x0 = x.front () / kCellParts, y0 = y.front () / kCellParts;
    return { x0, y0, divide_up (x.back (), kCellParts) - x0,
             divide_up (y.back (), kCellParts) - y0 };
  }
};

/// A score for each bin. With scores, a cell has one number, the sum of the scores of its pixels,
/// and not one number for each bin.
using Scores = std::span<const std::uint8_t>;

namespace cpu {
/// Computes the sums of all cells of a grid from the pixels of a frame of this shape (bytes or
/// WeightedPixel words). The sums are [cell][plane], in units of 1/kCellParts^2. With scores, which
/// need Content::bins, each cell has one sum; bins after the last score count 0. Columns are at
/// most kMaxCellColumns pixels wide. Returns 0, ENOMEM or EAGAIN.
[[nodiscard]] int add_up_cells (const Binning &binning, const Shape &shape, const Cells &cells,
                                Scores scores, std::int64_t *sums);
inline constexpr int kMaxCellColumns = 4000;
}  // namespace cpu

namespace cuda {
/// A grid of cells in device memory. value_weights[plane][value] is what a pixel of this value adds
/// to a cell's sum in the plane; not used if pixels have weights.
struct CellsOnDevice {
  const int *x, *y;  // as in Cells
  int columns, rows, widest;
  const std::uint16_t *value_weights;
  std::int64_t *sums;  // [cell][plane]
};

struct CellGrids {
  const CellsOnDevice *grids;
  int n, most_columns, most_rows;
};

/// Computes the sums of the cells of many grids on a GPU, from the output of bin_image () for a
/// frame of this shape. The sums are those of cpu::add_up_cells (). With weights, a row of cells
/// has at most kMaxCellSums sums. Columns are at most kMaxCellColumns pixels wide.
[[nodiscard]] int add_up_cells (PixelPlane values, const Shape &shape, const CellGrids &grids,
                                Stream stream);
inline constexpr int kMaxCellSums = 4096;

/// Counts the pixels of each bin in windows (rectangles) of a frame on a GPU, as
/// counts[window][bin]. The values of the pixels are bytes, which the LUT turns into bins.
[[nodiscard]] int count_windows (PixelPlane values, const Lut &lut, int bins, const Region *windows,
                                 int n, std::uint32_t *counts, Stream stream);
}  // namespace cuda

}  // namespace inthist
