// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Cells: rectangles side by side whose edges fall anywhere between pixels. A cell has of a pixel
// the part of its area that lies inside. So what a cell has is a weighted sum of pixels, exact in
// integers where edges are rounded to parts of a pixel, and no picture is resampled to ask it.
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
  /// Returns how many pixels wide the widest is, or wider by one.
  int widest () const
  {
    int most = 0;
    for (int i = 0; i < columns (); i++)
      most = std::max (most, (x[i + 1] - x[i]) / kCellParts + 1);
    return most;
  }
  /// Returns the frame's pixels that some cell has a part of.
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
/// Adds up what the cells have, from the pixels of a frame of this shape (as answer_pixels in
/// query.hpp takes them): [cell][plane], in 1/kCellParts^2; with scores, which only Content::bins
/// may have, a number a cell. Bins behind the last score have none. Columns are at most
/// kMaxCellColumns pixels wide. Returns 0, ENOMEM or EAGAIN.
[[nodiscard]] int add_up_cells (const Binning &binning, const Shape &shape, const Cells &cells,
                                Scores scores, std::int64_t *sums);
inline constexpr int kMaxCellColumns = 4000;
}  // namespace cpu

namespace cuda {
/// A grid of cells in device memory.
struct CellsOnDevice {
  const int *x, *y;  // as in Cells
  int columns, rows, widest;
  // Of other tensors than weights: what a value counts for, in each plane.
  const std::uint16_t *value_weights;
  std::int64_t *sums;  // [cell][plane]
};

struct CellGrids {
  const CellsOnDevice *grids;
  int n, most_columns, most_rows;
};

/// Adds up what the cells of many grids have, from the values that bin_image () made of a frame of
/// this shape; sums are those of cpu::add_up_cells (). A row of cells has at most kMaxCellSums
/// numbers, of weights, and columns are as wide as on the CPU.
[[nodiscard]] int add_up_cells (PixelPlane values, const Shape &shape, const CellGrids &grids,
                                Stream stream);
inline constexpr int kMaxCellSums = 4096;

/// Counts the bins of windows in the frame, from values a byte each: [window][bin].
[[nodiscard]] int count_windows (PixelPlane values, const Lut &lut, int bins, const Region *windows,
                                 int n, std::uint32_t *counts, Stream stream);
}  // namespace cuda

}  // namespace inthist
