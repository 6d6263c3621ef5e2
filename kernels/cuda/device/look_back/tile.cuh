// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The size of look-back's tiles (look_back.cu), and the part of a tile that a thread computes.
#pragma once

#include <concepts>

#include <cuda_runtime.h>

#include "../../look_back_policy.hpp"
#include "../hardware/warp.cuh"

namespace inthist::cuda {

/// Neighbouring elements that one instruction loads or stores together.
template <class T, int kCount>
struct alignas (sizeof (T) * kCount) Vector {
  T values[kCount];
};

/// The size of a tile, in elements. A warp handles kRows rows; in each row, a lane handles kChunks
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
  __device__ static int first_row () { return warp () * kRows; }
  __device__ static int first_column (int chunk) { return (chunk * kWarp + lane ()) * kColumns; }
};

/// Adds up a tile's pixels. A row is added up in segments of columns: a segment is the tile's whole
/// width, or a part of it. All threads of a block call these functions, in this order:
///
///   pixels         (row, chunk) returns where a lane puts pixels of a chunk, in a row of its warp
///   sum            (columns) gives for each of the lane's columns the sum of the warp's rows, from
///                  the first column of the segment up to this column
///   segments_left  (chunk) returns the sum of the tile's segments left of the chunk's segment
///   row_sum        (y) returns the sum of the tile's rows 0..y
///   store          (above, left, put) calls put (elements, row, chunk) for all elements of a warp.
///                  above: the sums of all rows above the warp's, in the form of `sum`. left[y]:
///                  the sum of rows 0..y of all tiles to the left
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
    summed.segments_left (n)
    } -> std::same_as<T>;
  {
    summed.row_sum (n)
    } -> std::same_as<T>;
  sums.store (above, left, put);
};

/// Returns the sum of rows 0..y, given prefix sums of rows that start anew at every kGroup-th row.
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
