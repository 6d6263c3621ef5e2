// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Counts and sums straight from the pixels of a window, for few and small windows: no tensor is
// needed. How often each value occurs says both: a bin's count is that of its values, and a sum is
// that of value times count. Four histograms take turns, as a counter that has just been written is
// slow to read.
#include <algorithm>
#include <cstring>

#include "../window.hpp"
#include "parallel.hpp"

namespace inthist::cpu {
namespace {

using Values = std::array<std::uint64_t, 256>;  // how often each occurs

void count_values (const Image &image, const Region &window, Values &values)
{
  constexpr int kTurns = 4;
  alignas (64) std::uint32_t turns[kTurns][256] = {};
  for (int y = 0; y < window.height; y++) {
    const auto *const row =
        static_cast<const std::uint8_t *> (image.data) + (window.y + y) * image.stride + window.x;
    int x = 0;
    for (; x + 8 <= window.width; x += 8) {
      std::uint64_t word;
      std::memcpy (&word, row + x, sizeof word);
      for (int i = 0; i < 8; i++)
        turns[i % kTurns][word >> (8 * i) & 255]++;
    }
    for (; x < window.width; x++)
      turns[x % kTurns][row[x]]++;
  }
  for (int v = 0; v < 256; v++)
    values[v] = std::uint64_t (turns[0][v]) + turns[1][v] + turns[2][v] + turns[3][v];
}

/// Writes what the values add up to in each plane.
template <class Sum>
void add_up (const Values &values, const Lut &lut, const Shape &shape, Sum *sums)
{
  std::fill_n (sums, shape.bins, Sum (0));
  for (int v = 0; v < 256; v++) {
    const std::uint64_t n = values[v];
    if (shape.content == Content::powers) {
      sums[0] += Sum (n * v);
      if (shape.bins > 1)
        sums[1] += Sum (n * v * v);
    } else if (lut[v] < shape.bins) {
      sums[lut[v]] += Sum (n);
    }
  }
}

/// Adds the weights in a window to the bins.
template <class Sum>
void add_weights (const Image &image, const Region &window, const Shape &shape, Sum *sums)
{
  std::fill_n (sums, shape.bins, Sum (0));
  for (int y = 0; y < window.height; y++) {
    const auto *const row = reinterpret_cast<const WeightedPixel *> (
        static_cast<const std::uint8_t *> (image.data) + (window.y + y) * image.stride);
    for (int x = window.x; x < window.x + window.width; x++) {
      const std::uint32_t word = row[x].word;
      const int bin = int (word & 255), next = bin + 1 < shape.bins ? bin + 1 : 0;
      if (bin < shape.bins) {
        sums[bin] += word >> 8 & WeightedPixel::kMost;
        sums[next] += word >> 20;
      }
    }
  }
}

template <class Sum>
int answer (const Binning &binning, const Shape &shape, const Query &query)
{
  auto *const sums = static_cast<Sum *> (query.answers);
  return for_each (query.windows.size (), 16, nullptr, [&] (int i) {
    const Region window = window_of (query.windows, i, shape);
    Sum *const its_sums = sums + std::size_t (i) * shape.bins;
    if (shape.content == Content::weights)
      return add_weights (binning.image, window, shape, its_sums);
    Values values;
    count_values (binning.image, window, values);
    add_up (values, binning.lut, shape, its_sums);
  });
}

}  // namespace

int answer_pixels (const Binning &binning, const Shape &shape, const Query &query)
{
  return query.question == Question::sums ? answer<std::uint64_t> (binning, shape, query)
                                          : answer<std::uint32_t> (binning, shape, query);
}

}  // namespace inthist::cpu
