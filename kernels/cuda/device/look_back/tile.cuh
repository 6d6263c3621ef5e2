// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The sizes of look-back's tiles, and the part of a tile that a thread has.
#pragma once

#include <concepts>

#include <cuda_runtime.h>

#include "../../look_back_policy.hpp"
#include "../hardware/warp.cuh"

namespace inthist::cuda {

/// Neighbouring values that one instruction loads or stores.
template <class T, int kCount>
struct alignas (sizeof (T) * kCount) Vector {
  T values[kCount];
};

/// The size of a tile, in elements. A warp handles kRows rows. In each row, a lane handles kChunks
/// chunks of kColumns neighbouring elements.
template <class T, LookBackTilePolicy kPolicy>
struct LookBackTile {
  static constexpr int kRows = kPolicy.rows, kChunks = kPolicy.chunks, kBlocks = kPolicy.blocks;
  static constexpr int kColumns = sizeof (T) <= 4 ? 4 : 16 / sizeof (T), kWarps = 8;
  static constexpr int kWidth = kChunks * kWarp * kColumns, kHeight = kWarps * kRows,
                       kThreads = kWarps * kWarp;
  static_assert (kHeight <= kThreads);

  __device__ static int lane () { return threadIdx.x % kWarp; }
  __device__ static int warp () { return threadIdx.x / kWarp; }
  /// Returns the first row of this warp.
  __device__ static int first_row () { return warp () * kRows; }
  /// Returns the first column of this lane in a chunk.
  __device__ static int first_column (int chunk) { return (chunk * kWarp + lane ()) * kColumns; }
};

/// Sums over a tile's pixels, such as ByteSums. Rows are added up in segments of columns: a segment
/// is the tile's whole width, or a part of it. All threads of a block call in this order:
///
///   pixels    returns where a lane loads pixels of a row of its warp and a chunk
///   sum       adds up rows, and gives the sums of a warp's rows over the columns from their
///             segment's first up to each of a lane's
///   left_of   returns what the rows of the tile have in the segments left of a chunk's
///   row_sum   returns the sum of the tile's rows 0..y
///   store     calls `put (elements, row of the warp, chunk)` for all elements of a warp. above: of
///             what lies above its rows, in the columns that `sum` gives. left: of what lies to the
///             left of the tile, rows 0..y
template <class Sums, class T, class Tile>
concept SumsOverTile = requires (Sums sums, const Sums &summed, int n,
                                 typename Sums::Sum (&columns)[Tile::kChunks][Tile::kColumns],
                                 const T (&above)[Tile::kChunks][Tile::kColumns],
                                 const T (&left)[Tile::kHeight],
                                 void (*put) (const Vector<T, Tile::kColumns> &, int, int))
{
  typename Sums::Shared;
  typename Sums::Pixel;
  {
    sums.pixels (n, n)
    } -> std::same_as<typename Sums::Pixels &>;
  sums.sum (columns);
  {
    summed.left_of (n)
    } -> std::same_as<T>;
  {
    summed.row_sum (n)
    } -> std::same_as<T>;
  sums.store (above, left, put);
};

/// Returns the sum of rows 0..y. `rows` has prefix sums that start anew with each group of kGroup
/// rows.
template <int kGroup, class Sum, int kSize>
__device__ inline Sum sum_upto (const Sum (&rows)[kSize], int y)
{
  Sum sum = Sum (0);
#pragma unroll
  for (int end = kGroup - 1; end < kSize - 1; end += kGroup)
    if (end < y)
      sum = Sum (sum + rows[end]);
  return Sum (sum + rows[y]);
}

}  // namespace inthist::cuda
