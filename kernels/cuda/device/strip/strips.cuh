// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How the algorithms strip and byte-tiles cut a frame into strips, and which pixels they read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "../../../inthist.hpp"
#include "../../count_policy.hpp"

namespace inthist::cuda {

/// A frame is divided into strips, and a strip into row blocks, the rows that the count kernel adds
/// up in one step. The sums of a column are counts of 16 bits, or sums of weights of 32 bits.
/// Consecutive row blocks may be joined: the sums then go on from one row block to the next.
struct Strips {
  int width, height, bins, row_blocks_per_strip, row_block_rows, rows, n, joined_row_blocks = 1;
  std::size_t pitch;  // columns
  void *sums;         // [row block][bin][x]: sums from the first joined row block to this one

  __host__ __device__ std::size_t row_of (int row_block, int bin) const
  {
    return (std::size_t (row_block) * bins + bin) * pitch;
  }
  __host__ __device__ int row_blocks () const { return divide_up (height, row_block_rows); }
  /// Returns how many row blocks are counted: not the last strip's, which no strip below needs.
  __host__ __device__ int counted_row_blocks () const { return (n - 1) * row_blocks_per_strip; }

  /// Cuts a frame into strips, and strips into row blocks of a multiple of `step_rows` rows.
  Strips (const Shape &shape, int rows_per_strip, int step_rows, void *workspace)
      : width (shape.width), height (shape.height), bins (shape.bins),
        row_blocks_per_strip (divide_up (rows_per_strip, kMaxRowBlockRows / step_rows * step_rows)),
        row_block_rows (round_up (divide_up (rows_per_strip, row_blocks_per_strip), step_rows)),
        rows (row_block_rows * row_blocks_per_strip), n (divide_up (height, rows)),
        pitch (round_up (std::size_t (width), kCountColumns)), sums (workspace)
  {
  }

  /// Lets a CUDA block of the count kernel count several row blocks, so that the scan kernel adds
  /// up fewer counts. Enough blocks remain for each multiprocessor.
  void join_row_blocks (int processors, const CountPolicy &policy)
  {
    const long blocks =
        long (pitch / kCountColumns) * divide_up (bins, kCountBins) * counted_row_blocks ();
    const long wanted = std::max (1L, long (policy.blocks) * processors);
    joined_row_blocks =
        int (std::clamp (blocks / wanted, 1L, long (kMaxJoinedRows / row_block_rows)));
  }
};

/// The pixels that the kernels count and scan read: bytes, or WeightedPixel words with
/// Content::weights. If no LUT is used, byte >> shift == first + b for the bytes of bin b.
struct BinSource {
  const std::uint8_t *data;
  std::size_t stride;
  int columns;  // columns that may be read
  int shift = 0, first = 0;
  // true if the first strip of scan may read the pixels without a wait (overlap.cuh), because the
  // count kernel before it has waited
  bool ready = false;
};

}  // namespace inthist::cuda
