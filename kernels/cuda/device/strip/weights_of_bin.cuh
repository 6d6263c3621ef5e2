// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Finds what pixels add to a bin for the scan kernel of strip (scan.cuh), if pixels have weights.
// Two bins share a pixel, and the bin may be either of them. A step is four rows, because there are
// not enough registers for more. Steps of two rows and blocks of two bins, with which half as much
// is read from L2, take as long.
#pragma once

#include "../../strip_policy.hpp"
#include "../hardware/stay_in_l2.cuh"
#include "../hardware/warp.cuh"
#include "strips.cuh"

namespace inthist::cuda {

/// Finds the weights that pixels add to a bin, as the concept AddsToBin (scan.cuh) describes.
class WeightsOfBin {
public:
  using Element = std::uint32_t;
  static constexpr int kPixels = 4, kStepRows = 4;
  static constexpr ScanPolicy kPolicy = kScanOfWeights;

  /// The result of find (): pixels' weights, two to a word, and each row's sum in the lanes before.
  struct Found {
    std::uint32_t pixels[kStepRows][kPixels / 2], before[kStepRows];
  };

  struct RowTotals {
    std::uint32_t of[kStepRows];
  };

  __device__ WeightsOfBin (const BinSource &image, const Strips &strips, int bin)
      : columns_ (image.columns), bin_ (bin), bins_ (strips.bins), stride_ (image.stride),
        data_ (image.data)
  {
  }

  __device__ void load (int x, int y, int height)
  {
    const std::uint8_t *const from =
        data_ + std::size_t (y) * stride_ + min (x, columns_ - kPixels) * sizeof (WeightedPixel);
#pragma unroll
    for (int r = 0; r < kStepRows; r++)
      words_[r] = load_that_stays (reinterpret_cast<const uint4 *> (
          from + std::size_t (stride_) * unsigned (min (r, height - 1 - y))));
  }

  __device__ Found find (RowTotals &totals) const
  {
    Found found;
    std::uint32_t own[kStepRows], upto[kStepRows];
#pragma unroll
    for (int r = 0; r < kStepRows; r++) {
      const auto both = [this] (std::uint32_t first, std::uint32_t second) {
        return WeightedPixel{ first }.to (bin_, bins_)
               | WeightedPixel{ second }.to (bin_, bins_) << 16;
      };
      found.pixels[r][0] = both (words_[r].x, words_[r].y);
      found.pixels[r][1] = both (words_[r].z, words_[r].w);
      upto[r] = own[r] =
          __dp2a_lo (found.pixels[r][0], 0x101u, __dp2a_lo (found.pixels[r][1], 0x101u, 0u));
    }
    // the prefix sums of all rows advance together, because a shuffle has a long latency
#pragma unroll
    for (int step = 1; step < kWarp; step *= 2)
#pragma unroll
      for (int r = 0; r < kStepRows; r++)
        upto[r] = add_lane_below (upto[r], step);
#pragma unroll
    for (int r = 0; r < kStepRows; r++) {
      found.before[r] = upto[r] - own[r];
      if (threadIdx.x % kWarp == kWarp - 1)
        totals.of[r] = upto[r];
    }
    return found;
  }

  __device__ static std::uint32_t total_of (const RowTotals &totals, int row)
  {
    return totals.of[row];
  }

  __device__ static void add_row (const Found &found, int r, std::uint32_t left,
                                  std::uint32_t (&h)[kPixels])
  {
    std::uint32_t add = left + found.before[r];
#pragma unroll
    for (int w = 0; w < kPixels / 2; w++) {
      const std::uint32_t both = found.pixels[r][w];
      h[2 * w] = __dp2a_lo (both, 1u, h[2 * w] + add);
      h[2 * w + 1] = __dp2a_lo (both, 0x101u, h[2 * w + 1] + add);
      add = __dp2a_lo (both, 0x101u, add);
    }
  }

  using ColumnSums = uint4;
  static constexpr int kSumsInFlight = 4;

  __device__ static ColumnSums load_sums (const Strips &strips, std::size_t row, int x)
  {
    return load_that_stays (reinterpret_cast<const uint4 *> (
        static_cast<const std::uint32_t *> (strips.sums) + row + x));
  }

  __device__ static void add_sums (const ColumnSums &sums, std::uint32_t (&h)[kPixels])
  {
    h[0] += sums.x, h[1] += sums.y, h[2] += sums.z, h[3] += sums.w;
  }

private:
  const int columns_, bin_, bins_;
  const unsigned stride_;
  const std::uint8_t *const data_;
  uint4 words_[kStepRows];
};

}  // namespace inthist::cuda
