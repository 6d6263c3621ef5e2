// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Computes counts and sums directly from the pixels of a window, without a tensor, which is for few
// or small windows. In a large window, the 256 values are counted first, and a bin's count is the
// sum of the counts of the bin's values. Neighbouring columns are counted in four different
// histograms, because a counter that was just written is slow to read. The pixels of a small window
// are counted directly in the answer.
#include <algorithm>
#include <cstring>

#include "../window.hpp"
#include "parallel.hpp"

namespace inthist::cpu {
namespace {

using Values = std::array<std::uint64_t, 256>;  // how often each value occurs

constexpr int kSmall = 1024;  // most pixels of a small window, counted directly in the answer

void count_values (const Image &image, const Region &window, Values &values)
{
  constexpr int kInterleaved = 4;
  alignas (64) std::uint32_t interleaved[kInterleaved][256] = {};
  for (int y = 0; y < window.height; y++) {
    const auto *const row =
        static_cast<const std::uint8_t *> (image.data) + (window.y + y) * image.stride + window.x;
    int x = 0;
    for (; x + 8 <= window.width; x += 8) {
      std::uint64_t word;
      std::memcpy (&word, row + x, sizeof word);
      for (int i = 0; i < 8; i++)
        interleaved[i % kInterleaved][word >> (8 * i) & 255]++;
    }
    for (; x < window.width; x++)
      interleaved[x % kInterleaved][row[x]]++;
  }
  for (int v = 0; v < 256; v++)
    values[v] = std::uint64_t (interleaved[0][v]) + interleaved[1][v] + interleaved[2][v]
                + interleaved[3][v];
}

/// Computes a window's answer (counts of bins, or sums) from how often each value occurs.
template <class Sum>
void add_up (const Values &values, const Lut &lut, const Shape &shape, Sum *sums)
{
  std::fill_n (sums, shape.bins, Sum (0));
  for (int v = 0; v < 256; v++) {
    const std::uint64_t n = values[v];
    if (shape.content == Content::sums) {
      sums[0] += Sum (n * v);
      if (shape.has_squares ())
        sums[1] += Sum (n * v * v);
    } else if (lut[v] < shape.bins) {
      sums[lut[v]] += Sum (n);
    }
  }
}

template <class Sum>
void count_bins (const Binning &binning, const Region &window, const Shape &shape, Sum *counts)
{
  std::fill_n (counts, shape.bins, Sum (0));
  for (int y = window.y; y < window.y + window.height; y++) {
    const auto *const row =
        static_cast<const std::uint8_t *> (binning.image.data) + y * binning.image.stride;
    for (int x = window.x; x < window.x + window.width; x++)
      if (const int bin = binning.lut[row[x]]; bin < shape.bins)
        counts[bin]++;
  }
}

/// Adds up the values of a small window's pixels, and their squares, which fit in 32 bits.
template <class Sum>
void add_values (const Image &image, const Region &window, const Shape &shape, Sum *sums)
{
  std::uint32_t sum = 0, squares = 0;
  for (int y = window.y; y < window.y + window.height; y++) {
    const auto *const row =
        static_cast<const std::uint8_t *> (image.data) + y * image.stride + window.x;
    for (int x = 0; x < window.width; x++) {
      sum += row[x];
      squares += std::uint32_t (row[x]) * row[x];
    }
  }
  sums[0] = Sum (sum);
  if (shape.has_squares ())
    sums[1] = Sum (squares);
}

/// Adds up the weights of the pixels of windows. A 64-bit number has the weights of a pixel for
/// both of its bins, one in each half. The sum in either half stays below 2^32.
class WindowWeightSums {
public:
  template <class Sum>
  void add (const Image &image, const Region &window, const Shape &shape, Sum *sums)
  {
    constexpr int kMaxPixels = 1 << 20;  // with more pixels, a 32-bit sum of weights might overflow
    std::fill_n (sums, shape.bins, Sum (0));
    const int rows = std::max (1, kMaxPixels / std::max (1, window.width)),
              end = window.y + window.height;
    for (int y = window.y; y < end; y += rows)
      add_rows (image, { window.x, y, window.width, std::min (rows, end - y) }, shape.bins, sums);
  }

private:
  template <class Sum>
  void add_rows (const Image &image, const Region &window, int bins, Sum *sums)
  {
    const int n = pixels_of (window) < 256 ? 1 : kInterleaved;
    for (int i = 0; i < n; i++)
      std::fill_n (of_bins_[i], bins, 0);
    for (int y = window.y; y < window.y + window.height; y++) {
      const auto *const row = reinterpret_cast<const WeightedPixel *> (
                                  static_cast<const std::uint8_t *> (image.data) + y * image.stride)
                              + window.x;
      for (int x = 0; x < window.width; x++) {
        const WeightedPixel pixel = row[x];
        of_bins_[x & (n - 1)][pixel.bin ()] +=
            pixel.to_bin () | std::uint64_t (pixel.to_next ()) << 32;
      }
    }
    for (int i = 0; i < n; i++) {
      std::uint64_t before = of_bins_[i][bins - 1];
      for (int b = 0; b < bins; b++) {
        const std::uint64_t both = of_bins_[i][b];
        sums[b] += Sum (std::uint32_t (both)) + Sum (before >> 32);
        before = both;
      }
    }
  }

  static constexpr int kInterleaved = 4;
  // sums of weights by bin; pixels in no bin go to an index that is not read
  alignas (64) std::uint64_t of_bins_[kInterleaved][256] = {};
};

template <class Sum>
int answer (const Binning &binning, const Shape &shape, const Query &query)
{
  constexpr int kRun = 16;  // windows
  auto *const all_sums = static_cast<Sum *> (query.answers);
  const int n = query.windows.size ();
  // with fewer runs of windows in a task, waking threads would take longer than it gains
  constexpr int kRunsAtOnce = 32;
  const bool are_small = n > kRun * kRunsAtOnce;
  return for_each (divide_up (n, kRun), are_small ? kRunsAtOnce : 1, nullptr, [&] (int run) {
    WindowWeightSums weights;
    for (int i = run * kRun; i < std::min (n, (run + 1) * kRun); i++) {
      const Region window = window_of (query.windows, i, shape);
      Sum *const sums = all_sums + std::size_t (i) * shape.bins;
      if (shape.content == Content::weights) {
        weights.add (binning.image, window, shape, sums);
      } else if (std::int64_t (window.width) * window.height <= kSmall) {
        if (shape.content == Content::sums)
          add_values (binning.image, window, shape, sums);
        else
          count_bins (binning, window, shape, sums);
      } else {
        Values values;
        count_values (binning.image, window, values);
        add_up (values, binning.lut, shape, sums);
      }
    }
  });
}

}  // namespace

int answer_pixels (const Binning &binning, const Shape &shape, const Query &query)
{
  return query.kind == QueryKind::sums ? answer<std::uint64_t> (binning, shape, query)
                                       : answer<std::uint32_t> (binning, shape, query);
}

}  // namespace inthist::cpu
