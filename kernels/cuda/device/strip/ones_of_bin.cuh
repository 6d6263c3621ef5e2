// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Finds the pixels of a bin for the scan kernel of strip (scan.cuh), if each pixel counts 1. A step
// is eight rows, because a byte has one bit for each row of a column.
#pragma once

#include "../../strip_policy.hpp"
#include "../hardware/bytes.cuh"
#include "../hardware/stay_in_l2.cuh"
#include "../hardware/warp.cuh"
#include "row_counts.cuh"
#include "strips.cuh"

namespace inthist::cuda {

__device__ inline void load_pixels (std::uint32_t (&words)[1], const std::uint8_t *from)
{
  words[0] = load_that_stays (reinterpret_cast<const std::uint32_t *> (from));
}

__device__ inline void load_pixels (std::uint32_t (&words)[2], const std::uint8_t *from)
{
  const uint2 both = load_that_stays (reinterpret_cast<const uint2 *> (from));
  words[0] = both.x, words[1] = both.y;
}

/// Finds the pixels of a bin for the scan kernel, as the concept AddsToBin (scan.cuh) describes.
template <class T>
class OnesOfBin {
public:
  using Element = T;
  static constexpr int kPixels = 16 / sizeof (T), kStepRows = 8;
  static constexpr ScanPolicy kPolicy = kScanOfOnes;

private:
  static constexpr int kWords = kPixels / 4, kQuads = kStepRows / 4;  // words; groups of rows
  static constexpr int kInFlight = 32 / kPixels;

public:
  /// The result of find (). pixels: bit r of byte j tells whether pixel j of row r is in the bin.
  /// before: a byte for each row, the bin's pixels in the lanes to the left, at most 31 x 8.
  struct Found {
    std::uint32_t pixels[kWords], before[kQuads];
  };

  struct RowTotals {
    alignas (8) std::uint16_t of[kStepRows];  // [place_of_row (row)]
  };

  __device__ OnesOfBin (const BinSource &image, const Strips &, int bin)
      : columns_ (image.columns), stride_ (image.stride), data_ (image.data),
        pattern_ (image.shift, bin + image.first)
  {
  }

  __device__ void load (int x, int y, int height)
  {
    const std::uint8_t *const from =
        data_ + std::size_t (y) * stride_ + min (x, columns_ - kPixels);
    if (y + kStepRows <= height)
#pragma unroll
      for (int r = 0; r < kStepRows; r++)
        load_pixels (words_[r], from + std::size_t (stride_) * unsigned (r));
    else  // rows below the image load its last row again
#pragma unroll
      for (int r = 0; r < kStepRows; r++)
        load_pixels (words_[r], from + std::size_t (stride_) * unsigned (min (r, height - 1 - y)));
  }

  __device__ Found find (RowTotals &totals) const
  {
    Found found = {};
#pragma unroll
    for (int q = 0; q < kQuads; q++) {
      std::uint32_t own = 0;
#pragma unroll
      for (int i = 0; i < 4; i++) {
        int n = 0;
#pragma unroll
        for (int w = 0; w < kWords; w++) {
          const int ones = pattern_.equal (words_[4 * q + i][w]);
          n = __dp4a (ones, -1, n);
          found.pixels[w] |= ones & 0x01010101u << (4 * q + i);
        }
        own += std::uint32_t (n) << (8 * i);
      }
      found.before[q] = warp_scan (own) - own;
      if (threadIdx.x % kWarp == kWarp - 1)
        store_row_counts (&totals.of[4 * q], found.before[q], own);
    }
    return found;
  }

  __device__ static std::uint32_t total_of (const RowTotals &totals, int row)
  {
    return totals.of[place_of_row (row)];
  }

  __device__ static void add_row (const Found &found, int r, std::uint32_t left,
                                  std::uint32_t (&h)[kPixels])
  {
    std::uint32_t add = __dp4a (found.before[r / 4], 1u << (8 * (r % 4)), left);
#pragma unroll
    for (int w = 0; w < kWords; w++) {
      const std::uint32_t ones = found.pixels[w] >> r & 0x01010101u;
#pragma unroll
      for (int j = 0; j < 4; j++)  // each column adds the row's pixels up to the column
        h[4 * w + j] = __dp4a (ones, 0x01010101u >> (24 - 8 * j), h[4 * w + j] + add);
      if (w + 1 < kWords)
        add = __dp4a (ones, 0x01010101u, add);
    }
  }

  struct ColumnSums {
    uint2 of[kPixels / 4];
  };
  static constexpr int kSumsInFlight = kInFlight;

  __device__ static ColumnSums load_sums (const Strips &strips, std::size_t row, int x)
  {
    ColumnSums sums;
#pragma unroll
    for (int w = 0; w < kPixels / 4; w++)
      sums.of[w] = load_that_stays (reinterpret_cast<const uint2 *> (
          static_cast<const std::uint16_t *> (strips.sums) + row + x + 4 * w));
    return sums;
  }

  __device__ static void add_sums (const ColumnSums &sums, std::uint32_t (&h)[kPixels])
  {
#pragma unroll
    for (int j = 0; j < kPixels; j++)  // each word has two column counts: the dot product adds one
      h[j] = __dp2a_lo (j % 4 < 2 ? sums.of[j / 4].x : sums.of[j / 4].y, j % 2 ? 0x100u : 1u, h[j]);
  }

private:
  const int columns_;
  const unsigned stride_;
  const std::uint8_t *const data_;
  const BinPattern pattern_;
  std::uint32_t words_[kStepRows][kWords];
};

}  // namespace inthist::cuda
