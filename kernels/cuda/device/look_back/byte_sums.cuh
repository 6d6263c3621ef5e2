// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Adds up a tile of 8-bit pixels, or of their squares, for look-back (look_back.cu). A dot product
// (__dp4a) adds up four pixels, and prefix sums over the lanes give the sums of a row. Shared
// memory keeps only pixels, which are smaller than elements: they are added up again for the store.
#pragma once

#include <cstdint>
#include <cstring>

#include <cuda_runtime.h>

#include "../hardware/warp.cuh"
#include "tile.cuh"

namespace inthist::cuda {

template <class T, class Tile>
class ByteSums {
  static constexpr int kColumns = Tile::kColumns, kChunks = Tile::kChunks, kRows = Tile::kRows;
  static constexpr int kSummed = 8, kStored = 4;  // rows at a time
  static_assert (kRows % kSummed == 0 && kColumns == 4);

public:
  using Pixel = std::uint8_t;
  using Sum = std::uint32_t;  // large enough for any sum over a tile
  using Pixels = Vector<Pixel, kColumns>;

  struct Shared {
    Pixels pixels[Tile::kHeight][kChunks][kWarp];
    Sum rows[Tile::kHeight];  // [y]: sum of a warp's rows, from its first to row y
  };

  __device__ ByteSums (Shared &shared, int plane) : shared_ (shared), adds_squares_ (plane == 1) {}

  // Functions of the concept SumsOverTile (tile.cuh), for a segment that is the tile's whole width.

  __device__ Pixels &pixels (int row, int chunk)
  {
    return shared_.pixels[Tile::first_row () + row][chunk][Tile::lane ()];
  }

  __device__ void sum (Sum (&columns)[kChunks][kColumns])
  {
    Sum running = 0, before[1][kChunks];
#pragma unroll 1
    for (int first = 0; first < kRows; first += kSummed) {
      Sum rows[kSummed];
#pragma unroll
      for (int r = 0; r < kSummed; r++) {
#pragma unroll
        for (int s = 0; s < kChunks; s++)
          running += add (pixels (first + r, s), columns[s]);
        rows[r] = running;
      }
      const Sum row = warp_sums (rows);
      constexpr int kLanes = kWarp / kSummed;
      if (Tile::lane () % kLanes == 0)
        shared_.rows[Tile::first_row () + first + Tile::lane () / kLanes] = row;
    }
#pragma unroll
    for (int s = 0; s < kChunks; s++)
      before[0][s] = columns[s][kColumns - 1];
    scan_lanes (before);
#pragma unroll
    for (int s = 0; s < kChunks; s++)
#pragma unroll
      for (int c = 0; c < kColumns; c++)
        columns[s][c] += before[0][s];
  }

  __device__ T segments_left (int) const
  {
    return T (0);
  }

  __device__ T row_sum (int y) const
  {
    return T (sum_upto<kRows> (shared_.rows, y));
  }

  template <class Put>
  __device__ void store (const T (&above)[kChunks][kColumns], const T (&left)[Tile::kHeight],
                         Put put)
  {
    Sum running[kChunks] = {}, sums[kChunks][kColumns] = {};
#pragma unroll 1
    for (int first = 0; first < kRows; first += kStored) {
      Sum before[kStored][kChunks], here[kStored][kChunks][kColumns];
#pragma unroll
      for (int r = 0; r < kStored; r++)
#pragma unroll
        for (int s = 0; s < kChunks; s++) {
          running[s] += add (pixels (first + r, s), sums[s]);
          before[r][s] = running[s];
#pragma unroll
          for (int c = 0; c < kColumns; c++)
            here[r][s][c] = sums[s][c];
        }
      scan_lanes (before);
#pragma unroll
      for (int r = 0; r < kStored; r++)
#pragma unroll
        for (int s = 0; s < kChunks; s++) {
          const T to_left = T (left[Tile::first_row () + first + r] + T (before[r][s]));
          Vector<T, kColumns> elements;
#pragma unroll
          for (int c = 0; c < kColumns; c++)
            elements.values[c] = T (above[s][c] + T (to_left + T (here[r][s][c])));
          put (elements, first + r, s);
        }
    }
  }

private:
  /// Adds pixels 0 to c of a lane's word of pixels, or their squares, to sums[c], for each c.
  /// Returns the sum of all pixels of the word.
  __device__ Sum add (const Pixels &pixels, Sum (&sums)[kColumns]) const
  {
    std::uint32_t values;
    memcpy (&values, &pixels, sizeof values);
    const std::uint32_t factors = adds_squares_ ? values : 0x01010101;
#pragma unroll
    for (int c = 0; c < kColumns; c++)
      sums[c] = __dp4a (values, factors & (~0u >> (24 - 8 * c)), sums[c]);
    return __dp4a (values, factors, 0u);
  }

  /// Replaces each lane's sums, for several rows and chunks of columns, by the sums of all lanes to
  /// the left. The steps of the rows are interleaved, because a shuffle has a long latency.
  template <int kCount>
  __device__ static void scan_lanes (Sum (&rows)[kCount][kChunks])
  {
#pragma unroll
    for (int step = 1; step < kWarp; step *= 2)
#pragma unroll
      for (int r = 0; r < kCount; r++)
#pragma unroll
        for (int s = 0; s < kChunks; s++)
          rows[r][s] = add_lane_below (rows[r][s], step);
#pragma unroll
    for (int r = 0; r < kCount; r++) {
      Sum left = 0;
#pragma unroll
      for (int s = 0; s < kChunks; s++) {
        const Sum all = rows[r][s], before = shuffle_up (all, 1);
        rows[r][s] = Tile::lane () > 0 ? left + before : left;
        if (s + 1 < kChunks)
          left += shuffle (all, kWarp - 1);
      }
    }
  }

  Shared &shared_;
  const bool adds_squares_;
};

}  // namespace inthist::cuda
