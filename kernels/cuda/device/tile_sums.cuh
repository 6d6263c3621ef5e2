// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The measures of look-back's tiles, and sums over neighbouring pixels of them.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <cuda_runtime.h>

#include "../../planes.hpp"
#include "../look_back_policy.hpp"
#include "warp.cuh"

namespace inthist::cuda {

/// Neighbouring values, for one load or store.
template <class T, int kCount>
struct alignas (sizeof (T) * kCount) Vector {
  T values[kCount];
};

/// Measures of a tile, in elements. A warp has kRows rows, and a lane kChunks times kColumns
/// neighbouring elements of each.
template <class T, TilePolicy kPolicy>
struct TileOf {
  static constexpr int kRows = kPolicy.rows, kChunks = kPolicy.chunks, kBlocks = kPolicy.blocks;
  static constexpr int kColumns = sizeof (T) <= 4 ? 4 : 16 / sizeof (T), kWarps = 8;
  static constexpr int kWidth = kChunks * kWarp * kColumns, kHeight = kWarps * kRows,
                       kThreads = kWarps * kWarp;
  static_assert (kWidth <= kWarps * kWarp && kHeight <= kWarps * kWarp);
};

/// Adds up the pixels of a lane, as a plane counts them.
template <class T, class Source, int kCount>
class PixelSums {
public:
  using Pixel = typename Source::Pixel;
  using Sum = T;

  __device__ explicit PixelSums (int plane) : plane_ (plane) {}

  /// Adds pixels 0..c to sums[c], and returns the sum of all.
  __device__ Sum add (const Vector<Pixel, kCount> &pixels, Sum (&sums)[kCount]) const
  {
    Sum row = Source::power (pixels.values[0], plane_);
    sums[0] = T (sums[0] + row);
#pragma unroll
    for (int c = 1; c < kCount; c++) {
      row = T (row + Source::power (pixels.values[c], plane_));
      sums[c] = T (sums[c] + row);
    }
    return row;
  }

private:
  const int plane_;
};

/// Adds up four bytes, or their squares, at a time. The sums of a tile fit a word.
template <class T>
class PixelSums<T, Power<std::uint8_t, T>, 4> {
public:
  using Pixel = std::uint8_t;
  using Sum = std::uint32_t;

  __device__ explicit PixelSums (int plane) : squares_ (plane == 1) {}

  __device__ Sum add (const Vector<std::uint8_t, 4> &pixels, Sum (&sums)[4]) const
  {
    std::uint32_t values;
    memcpy (&values, &pixels, sizeof values);
    const std::uint32_t factors = squares_ ? values : 0x01010101;
#pragma unroll
    for (int c = 0; c < 4; c++)
      sums[c] = __dp4a (values, factors & (~0u >> (24 - 8 * c)), sums[c]);
    return __dp4a (values, factors, 0u);
  }

private:
  const bool squares_;
};

}  // namespace inthist::cuda
