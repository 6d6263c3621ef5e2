// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Chains: kChain windows of a column of a map, each of which begins where the one above it ends, so
// that they share rows of H.
#pragma once

#include <algorithm>
#include <optional>

#include "../window.hpp"

namespace inthist::cuda {

// Windows of a thread, and bins in flight. On an H200, 640x480x32, windows of 64x64, both numbers
// together reduced chi-square-alt from 38.4 us to 28.9, and intersection from 25.5 to 17.4
// (docs/measurements/2026-11-22-questions.md). Other values are not on that page.
constexpr int kChain = 2, kBinsAhead = 2;
// Elements of tiles need more registers. This number was not measured against others.
constexpr int kBinsAheadInTiles = 1;

/// The chains of each of a map's columns, from the top. A chain's windows lie `apart` rows of the
/// map from each other, so `apart` chains are a set, and the last set may lie partly below the map.
struct Chains {
  int n, apart;
};

INTHIST_HOST_DEVICE inline int first_row_of (int chain, int apart)
{
  return chain / apart * kChain * apart + chain % apart;
}

/// Returns the row of H above the windows of a map's row, or -1; the map may end above it.
INTHIST_HOST_DEVICE inline int row_above (const Grid &grid, const Shape &shape, std::int64_t row)
{
  return between (-1, grid.y + row * grid.step_y - 1, shape.height - 1);
}

/// Returns nothing if the windows cannot be chained.
inline std::optional<Chains> chains_of (const Windows &windows)
{
  const Grid &grid = windows.grid;
  if (windows.list || grid.step_y < 1 || grid.window_height % grid.step_y != 0)
    return {};
  const int apart = grid.window_height / grid.step_y;
  const std::int64_t rows_per_set = std::int64_t (apart) * kChain,
                     sets = divide_up<std::int64_t> (grid.rows, rows_per_set);
  return Chains{ int ((sets - 1) * apart
                      + std::min<std::int64_t> (apart, grid.rows - (sets - 1) * rows_per_set)),
                 apart };
}

}  // namespace inthist::cuda
