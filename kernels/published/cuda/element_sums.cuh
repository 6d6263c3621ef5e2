// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Adds up a tile whose pixels are as large as its elements, for look-back. A thread walks along a
// segment of a row, in shared memory, and replaces each pixel by the sum up to this pixel. All
// other sums are computed from columns of these sums, without shuffles. With shuffles for each row,
// f64 took 10 % more time and f32x4 8 % (4096x4096, 4 tables in flight).
#pragma once

#include <cuda_runtime.h>

#include "../../cuda/device/hardware/warp.cuh"
#include "../../cuda/device/look_back/tile.cuh"

namespace inthist::cuda {

template <class T, class Tile>
class ElementSums {
  static constexpr int kColumns = Tile::kColumns, kChunks = Tile::kChunks, kRows = Tile::kRows,
                       kHeight = Tile::kHeight, kVectors = kChunks * kWarp,
                       kSegments = Tile::kThreads / kHeight, kSegmentVectors = kVectors / kSegments;
  static_assert (kHeight % kWarp == 0 && kRows % 8 == 0 && kVectors % kSegments == 0);

public:
  using Pixel = T;
  using Sum = T;
  using Pixels = Vector<T, kColumns>;

  struct Shared {
    Pixels pixels[kHeight][kVectors];
    T rows[kSegments][kHeight];  // a segment's sums over rows, from a multiple of 32 to this row
  };

  __device__ ElementSums (Shared &shared, int) : shared_ (shared) {}

  // Functions of the concept SumsOverTile (../../cuda/device/look_back/tile.cuh).

  __device__ Pixels &pixels (int row, int chunk)
  {
    return at (Tile::first_row () + row, chunk * kWarp + Tile::lane ());
  }

  __device__ void sum (Sum (&columns)[kChunks][kColumns])
  {
    __syncthreads ();  // because a thread reads pixels that other threads have loaded
    T running = T (0);
#pragma unroll 4
    for (int v = 0; v < kSegmentVectors; v++) {
      Pixels &own = at (row_, segment_ * kSegmentVectors + v);
      Pixels upto = own;
#pragma unroll
      for (int c = 0; c < kColumns; c++)
        upto.values[c] = running = T (running + upto.values[c]);
      own = upto;
    }
    shared_.rows[segment_][row_] = warp_scan (running);
    __syncthreads ();
#pragma unroll 4
    for (int r = 0; r < kRows; r++)
      add_row (r, columns);
  }

  __device__ T segments_left (int chunk) const
  {
    return sum_of_segments (segment_of (chunk), kHeight - 1);
  }

  __device__ T row_sum (int y) const
  {
    return sum_of_segments (kSegments, y);
  }

  template <class Put>
  __device__ void store (const T (&above)[kChunks][kColumns], const T (&left)[kHeight], Put put)
  {
    const T left_of_segment = T (left[row_] + sum_of_segments (segment_, row_));
    __syncthreads ();
    shared_.rows[segment_][row_] = left_of_segment;
    __syncthreads ();
    T sums[kChunks][kColumns] = {};
#pragma unroll 4
    for (int r = 0; r < kRows; r++) {
      add_row (r, sums);
#pragma unroll
      for (int s = 0; s < kChunks; s++) {
        const T to_left = shared_.rows[segment_of (s)][Tile::first_row () + r];
        Vector<T, kColumns> elements;
#pragma unroll
        for (int c = 0; c < kColumns; c++)
          elements.values[c] = T (above[s][c] + T (to_left + sums[s][c]));
        put (elements, r, s);
      }
    }
  }

private:
  /// Returns a vector of pixels in shared memory, placed so that lanes whose pixels are side by
  /// side, or one above the other, use different banks.
  __device__ Pixels &at (int row, int vector)
  {
    return shared_.pixels[row][vector ^ row % 8];
  }

  __device__ static int segment_of (int chunk)
  {
    return (chunk * kWarp + Tile::lane ()) / kSegmentVectors;
  }

  __device__ void add_row (int row, T (&sums)[kChunks][kColumns])
  {
#pragma unroll
    for (int s = 0; s < kChunks; s++) {
      const Pixels upto = pixels (row, s);
#pragma unroll
      for (int c = 0; c < kColumns; c++)
        sums[s][c] = T (sums[s][c] + upto.values[c]);
    }
  }

  /// Returns the sum of the tile's rows 0..y over the first `count` segments of columns.
  __device__ T sum_of_segments (int count, int y) const
  {
    T sum = T (0);
#pragma unroll
    for (int i = 0; i < kSegments; i++)
      if (i < count)
        sum = T (sum + sum_upto<kWarp> (shared_.rows[i], y));
    return sum;
  }

  Shared &shared_;
  const int row_ = threadIdx.x % kHeight, segment_ = threadIdx.x / kHeight;
};

}  // namespace inthist::cuda
