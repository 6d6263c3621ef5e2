// SPDX-License-Identifier: LGPL-2.1-or-later
#include "channels.hpp"

#include <cmath>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "channels-inl.hpp"
#include <hwy/foreach_target.h>

#include "channels-inl.hpp"

namespace inthist::correlation {
namespace {

HWY_EXPORT (write_channels);

/// Makes each number of a plane a mean of it and its neighbours along one way; `step` numbers lie
/// from one to the next.
void smooth (std::vector<float> &cells, std::size_t step, std::size_t other_step, int values)
{
  constexpr float kScale = 1 / (1 + 2 * kNeighbour);
  std::vector<float> line (std::size_t (kGrid + 2) * values);  // with nothing at both ends
  for (int other = 0; other < kGrid; other++) {
    for (int i = 0; i < kGrid; i++)
      std::copy_n (&cells[other * other_step + i * step], values, &line[(i + 1) * values]);
    for (int i = 0; i < kGrid; i++)
      for (int v = 0; v < values; v++) {
        const float *const at = &line[(i + 1) * values + v];
        cells[other * other_step + i * step + v] =
            (at[0] + kNeighbour * (at[-values] + at[values])) * kScale;
      }
  }
}

}  // namespace

std::array<float, kGrid> hann ()
{
  std::array<float, kGrid> window;
  for (int i = 0; i < kGrid; i++)
    window[i] = float (0.5 - 0.5 * std::cos (2 * std::numbers::pi * (i + 0.5) / kGrid));
  return window;
}

std::vector<float> block_norms (std::span<const float> energies, int columns, int rows)
{
  std::vector<float> norms;
  for (int y = 0; y <= rows; y++)
    for (int x = 0; x <= columns; x++) {
      const int above = std::max (0, y - 1) * columns, below = std::min (rows - 1, y) * columns;
      const int left = std::max (0, x - 1), right = std::min (columns - 1, x);
      norms.push_back (1
                       / std::sqrt (energies[above + left] + energies[above + right]
                                    + energies[below + left] + energies[below + right] + kFlat));
    }
  return norms;
}

void describe (const SquareSums &sums, std::vector<float> &channels)
{
  static const std::array<float, kGrid> window = hann ();
  constexpr int kValues = kDirections + 1;  // and luma
  constexpr std::size_t kCells = kGrid * kGrid;
  constexpr std::size_t kRow = std::size_t (kGrid) * kValues;
  static thread_local std::vector<float> cells;  // takes long to allocate
  const auto [per_length, per_luma] = sums.scale;
  cells.resize (kCells * kValues);
  for (std::size_t i = 0; i < kCells; i++) {
    for (int b = 0; b < kDirections; b++)
      cells[i * kValues + b] = float (sums.gradients[i * kDirections + b]) * per_length;
    cells[i * kValues + kDirections] =
        float (sums.luma[i * sums.luma_planes] - 128 * sums.areas[i]) * per_luma;
  }
  smooth (cells, kValues, kRow, kValues);
  smooth (cells, kRow, kValues, kValues);

  std::vector<float> energies;
  for (std::size_t i = 0; i < kCells; i++) {
    float energy = 0;
    for (int b = 0; b < kOrientations; b++) {
      const float both = cells[i * kValues + b] + cells[i * kValues + b + kOrientations];
      energy += both * both;
    }
    energies.push_back (energy);
  }
  const auto norms = block_norms (energies, kGrid, kGrid);
  const auto write = HWY_DYNAMIC_DISPATCH (write_channels);
  channels.resize (kCells * kChannels);
  for (int row = 0; row < kGrid; row++)
    for (int column = 0; column < kGrid; column++) {
      const float *const cell = &cells[row * kRow + std::size_t (column) * kValues];
      const float *const corner = &norms[row * (kGrid + 1) + column];
      const float around[4] = { corner[0], corner[1], corner[kGrid + 1], corner[kGrid + 2] };
      write (cell, around, window[row] * window[column],
             &channels[std::size_t (row * kGrid + column) * kChannels]);
    }
}

}  // namespace inthist::correlation
