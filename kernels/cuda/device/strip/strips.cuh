// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How the kernels of strip and of byte-tiles cut a frame, and where the pixels of the frame are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "../../../inthist.hpp"
#include "../../count_policy.hpp"

namespace inthist::cuda {

/// A frame is divided into strips, and a strip into row blocks. In one step, the count kernel adds
/// up one row block. The column sums are counts of 16 bits, or sums of weights of 32 bits.
/// Consecutive row blocks are joined: the sums go on from one row block to the next.
struct Strips {
  int width, height, bins, row_blocks_per_strip, row_block_rows, rows, n, joined_row_blocks = 1;
  std::size_t pitch;  // columns
  void *sums;  // [row block][bin][x], each from the first of the joined row blocks up to this one

  __host__ __device__ std::size_t row_of (int row_block, int bin) const
  {
    return (std::size_t (row_block) * bins + bin) * pitch;
  }
  __host__ __device__ int row_blocks () const { return divide_up (height, row_block_rows); }
  /// Returns how many row blocks are counted. The last strip is not counted, because no strip lies
  /// below it.
  __host__ __device__ int counted_row_blocks () const { return (n - 1) * row_blocks_per_strip; }

  /// Rounds the rows of a row block up to a multiple of a step's rows, or of a tile's.
  Strips (const Shape &shape, int rows_per_strip, int step_rows, void *workspace)
      : width (shape.width), height (shape.height), bins (shape.bins),
        row_blocks_per_strip (divide_up (rows_per_strip, kMaxRowBlockRows / step_rows * step_rows)),
        row_block_rows (round_up (divide_up (rows_per_strip, row_blocks_per_strip), step_rows)),
        rows (row_block_rows * row_blocks_per_strip), n (divide_up (height, rows)),
        pitch (round_up (std::size_t (width), kCountColumns)), sums (workspace)
  {
  }

  /// Joins row blocks, so that the scan kernel adds up fewer counts. Enough CUDA blocks remain for
  /// the count kernel.
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
/// Content::weights. If no LUT is used, the high bits of a byte are its bin: bin b has the bytes
/// with byte >> shift == first + b.
struct BinSource {
  const std::uint8_t *data;
  std::size_t stride;
  int columns;  // columns that may be read
  int shift = 0, first = 0;
  // True if the first strip of scan may read the pixels without a wait (overlap.cuh), because a
  // count runs before scan.
  bool ready = false;
};

}  // namespace inthist::cuda
