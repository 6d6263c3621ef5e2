// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The channels of a cell (channels.hpp), compiled once for each instruction set. The operations for
// a number, and their order, are the same in vectors of any size.
#include "channels.hpp"

#include <cmath>
#include <cstddef>
#include <numbers>

#include "../formulas.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/channels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE ();
namespace inthist::correlation::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Writes the channels of a cell from its directions and luma (`cell`), and from the norms of the
/// four blocks of cells around it (`around`).
inline void write_channels (const float *cell, const float *around, float fade, float *channels)
{
  constexpr std::size_t kValues = kDirections + kOrientations;
  alignas (64) float values[kChannels] = {};
  for (std::size_t v = 0; v < kDirections; v++)
    values[v] = cell[v];
  for (std::size_t v = 0; v < kOrientations; v++)
    values[kDirections + v] = cell[v] + cell[v + kOrientations];

  const hn::CappedTag<float, kChannels> d;
  const auto most = hn::Set (d, kMaxShare), half = hn::Set (d, 0.5F * fade);
  for (std::size_t v = 0; v < kValues; v += hn::Lanes (d)) {
    const auto value = hn::Load (d, values + v);
    const auto share = [&] (int k) {
      return hn::Min (hn::Mul (value, hn::Set (d, around[k])), most);
    };
    const auto sum = hn::Add (hn::Add (hn::Add (share (0), share (1)), share (2)), share (3));
    hn::StoreU (hn::Mul (half, sum), d, channels + v);
  }

  const hn::CappedTag<float, 4> blocks;
  for (std::size_t k = 0; k < 4; k += hn::Lanes (blocks)) {
    const auto norms = hn::LoadU (blocks, around + k);
    auto sum = hn::Zero (blocks);
    for (std::size_t v = 0; v < kDirections; v++)
      sum = hn::Add (
          sum, hn::Min (hn::Mul (hn::Set (blocks, cell[v]), norms), hn::Set (blocks, kMaxShare)));
    hn::StoreU (hn::Mul (hn::Set (blocks, kBlockShare * fade), sum), blocks,
                channels + kValues + k);
  }
  channels[kChannels - 1] = cell[kDirections] * fade;
}

}  // namespace inthist::correlation::HWY_NAMESPACE
HWY_AFTER_NAMESPACE ();

#if HWY_ONCE

namespace inthist::correlation {
namespace {

HWY_EXPORT (write_channels);

/// Smooths the values of cells along an axis: replaces each cell by the weighted mean with its two
/// neighbours, which are `step` numbers apart.
void smooth (std::vector<float> &cells, std::size_t step, std::size_t other_step, int values)
{
  std::vector<float> line (std::size_t (kGrid + 2) * values);  // with zeros at both ends
  for (int other = 0; other < kGrid; other++) {
    for (int i = 0; i < kGrid; i++)
      std::copy_n (&cells[other * other_step + i * step], values, &line[(i + 1) * values]);
    for (int i = 0; i < kGrid; i++)
      for (int v = 0; v < values; v++) {
        const float *const at = &line[(i + 1) * values + v];
        cells[other * other_step + i * step + v] = smoothed (at[-values], at[0], at[values]);
      }
  }
}

/// Returns the norms at all corners of the cells (block_norm ()): (columns + 1) x (rows + 1).
std::vector<float> block_norms (const std::vector<float> &energies, int columns, int rows)
{
  std::vector<float> norms;
  for (int y = 0; y <= rows; y++)
    for (int x = 0; x <= columns; x++)
      norms.push_back (block_norm (energies.data (), columns, rows, x, y));
  return norms;
}

}  // namespace

std::array<float, kGrid> hann ()
{
  std::array<float, kGrid> window;
  for (int i = 0; i < kGrid; i++)
    window[i] = float (0.5 - 0.5 * std::cos (2 * std::numbers::pi * (i + 0.5) / kGrid));
  return window;
}

void describe (const SquareSums &sums, std::vector<float> &channels)
{
  static const std::array<float, kGrid> window = hann ();
  constexpr std::size_t kRow = std::size_t (kGrid) * kCellValues;
  static thread_local std::vector<float> cells;  // takes long to allocate
  cells.resize (kFilterCells * kCellValues);
  for (int i = 0; i < kFilterCells; i++) {
    float *const values = &cells[std::size_t (i * kCellValues)];
    for (int v = 0; v < kDirections; v++)
      values[v] = sums.direction (i * kDirections + v);
    values[kDirections] = sums.luma_of (i);
  }
  smooth (cells, kCellValues, kRow, kCellValues);
  smooth (cells, kRow, kCellValues, kCellValues);

  std::vector<float> energies;
  for (std::size_t i = 0; i < kFilterCells; i++)
    energies.push_back (energy_of (&cells[i * kCellValues]));
  const auto norms = block_norms (energies, kGrid, kGrid);
  const auto write = HWY_DYNAMIC_DISPATCH (write_channels);
  channels.resize (kFilterCells * kChannels);
  for (int row = 0; row < kGrid; row++)
    for (int column = 0; column < kGrid; column++)
      write (&cells[row * kRow + std::size_t (column) * kCellValues],
             BlockNorms (norms.data (), kGrid, row, column).at, window[row] * window[column],
             &channels[std::size_t (row * kGrid + column) * kChannels]);
}

void sample_size (const SizeJob &job)
{
  std::vector<float> energies;
  for (int cell = 0; cell < job.columns * job.rows; cell++) {
    float energy = 0;
    for (int b = 0; b < kOrientations; b++) {
      const float value = job.sample[cell * kOrientations + b] = job.value (cell, b);
      energy += value * value;
    }
    energies.push_back (energy);
  }
  const auto norms = block_norms (energies, job.columns, job.rows);
  float *to = job.sample;
  for (int row = 0; row < job.rows; row++)
    for (int column = 0; column < job.columns; column++) {
      const BlockNorms around (norms.data (), job.columns, row, column);
      for (int b = 0; b < kOrientations; b++, to++)
        *to = shares_of (*to, around.at);
    }
}

}  // namespace inthist::correlation

#endif
