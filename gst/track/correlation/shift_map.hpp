// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Maps of the shifts of a target: a value for each shift by whole cells. The response of a
// correlation filter is such a map. A map has kGrid x kGrid values, [row][column]. Shifts to the
// left and up are negative, and wrap around: row kGrid - 1 is the shift by one cell up.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "cells.hpp"
#include "peak.hpp"

namespace integralhist {

using inthist::correlation::kFilterCells;

inline constexpr int kSearchRadius = 10;  // cells that the target may move, of kGrid / 2

/// Returns where a map has the value of a row and a column, either of which may wrap around.
inline std::size_t index_of (int row, int column)
{
  return std::size_t ((row + kGrid) % kGrid * kGrid + (column + kGrid) % kGrid);
}

/// Returns the shift, which may be negative, of a row or a column.
inline int shift_of (int index)
{
  return index < kGrid / 2 ? index : index - kGrid;
}

/// The weights of shifts by the expected motion. A shift of 0 has a weight of 1.
class ShiftWeights {
public:
  /// Weights fall with the distance, as a normal distribution with this standard deviation in
  /// cells. If `spread` is 0 no motion is known, and all weights are 1.
  explicit ShiftWeights (double spread)
  {
    along_.fill (1);
    if (spread > 0)
      for (int i = 0; i < kGrid; i++)
        along_[i] = std::exp (-0.5 * std::pow (shift_of (i) / spread, 2));
  }
  double of (std::size_t index) const { return along_[index % kGrid] * along_[index / kGrid]; }

private:
  std::array<double, kGrid> along_;  // an axis
};

/// Returns a map of `value (index)` times the weight, for the shifts that are searched, row by row
/// from the top left one. It is 0 for all others.
template <class Value>
std::vector<double> weighted_map (const ShiftWeights &weights, Value &&value)
{
  std::vector<double> map (kFilterCells);
  for (int j = -kSearchRadius; j <= kSearchRadius; j++)
    for (int i = -kSearchRadius; i <= kSearchRadius; i++) {
      const std::size_t index = index_of (j, i);
      map[index] = weights.of (index) * value (index);
    }
  return map;
}

/// Returns the shift of a map's peak that is nearest to a row and a column, in parts of a cell.
inline std::pair<double, double> peak_near (std::span<const double> map, int row, int column)
{
  const auto between = [&] (int down, int right) {
    const auto at = [&] (int step) {
      return map[index_of (row + step * down, column + step * right)];
    };
    return peak_between (at (-1), at (0), at (1));
  };
  return { shift_of (column) + between (0, 1), shift_of (row) + between (1, 0) };
}

}  // namespace integralhist
