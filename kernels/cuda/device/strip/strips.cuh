// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the kernels of strip and of byte-tiles know: how a frame is cut, and where its pixels are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "../../../inthist.hpp"
#include "../../count_policy.hpp"

namespace inthist::cuda {

/// A frame cut into strips, these into cells for count, and the column sums: counts of 16 bits, or
/// sums of weights of 32. Consecutive cells are joined, and sums go on from one to the next.
struct Strips {
  int width, height, bins, cells_per_strip, cell_rows, rows, n, joined_cells = 1;
  std::size_t pitch;  // columns
  void *sums;         // [cell][bin][x], each from the first of the joined cells up to this one

  __host__ __device__ std::size_t row_of (int cell, int bin) const
  {
    return (std::size_t (cell) * bins + bin) * pitch;
  }
  __host__ __device__ int cells () const { return divide_up (height, cell_rows); }
  /// Returns how many cells are counted; the last strip is above nothing.
  __host__ __device__ int counted_cells () const { return (n - 1) * cells_per_strip; }

  /// Rounds the rows of a cell up to those of a step, or of a tile.
  Strips (const Shape &shape, int rows_per_strip, int step_rows, void *workspace)
      : width (shape.width), height (shape.height), bins (shape.bins),
        cells_per_strip (divide_up (rows_per_strip, kMaxCell / step_rows * step_rows)),
        cell_rows (round_up (divide_up (rows_per_strip, cells_per_strip), step_rows)),
        rows (cell_rows * cells_per_strip), n (divide_up (height, rows)),
        pitch (round_up (std::size_t (width), kCountColumns)), sums (workspace)
  {
  }

  /// Joins cells, so that scan adds up fewer counts; leaves blocks enough for count.
  void join_cells (int processors, const CountPolicy &policy)
  {
    const long blocks =
        long (pitch / kCountColumns) * divide_up (bins, kCountBins) * counted_cells ();
    const long wanted = std::max (1L, long (policy.blocks) * processors);
    joined_cells = int (std::clamp (blocks / wanted, 1L, long (kMaxJoinedRows / cell_rows)));
  }
};

/// Bytes whose high bits are the bin: bin b has those with byte >> shift == first + b.
struct BinBytes {
  const std::uint8_t *data;
  std::size_t stride;
  int columns;  // that may be read
  int shift = 0, first = 0;
  // The first strip of scan may read them without a wait (overlap.cuh), as a count comes before it.
  bool ready = false;
};

}  // namespace inthist::cuda
