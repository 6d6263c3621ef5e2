// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The channels of a square of cells, which correlation filters look at.
//
// The channels are those of P. Felzenszwalb et al., "Object detection with discriminatively trained
// part-based models", PAMI 2010: 18 directions of the gradient and 9 orientations, each divided by
// the energy of the four blocks of cells around and clipped; four sums of those; and luma.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "filter_kernels.hpp"

namespace inthist::correlation {

/// 1 / the energy of the four cells around each corner of the cells: (columns + 1) x (rows + 1)
/// numbers. Cells outside of the grid are as those at its border.
std::vector<float> block_norms (std::span<const float> energies, int columns, int rows);

/// Returns the sum of a value's shares of the four blocks, each clipped.
inline float clipped_sum (float value, const float norms[4])
{
  const auto share = [&] (int k) { return std::min (value * norms[k], kMostShare); };
  return share (0) + share (1) + share (2) + share (3);
}

/// Returns by how much a square's channels fade out, along either axis.
std::array<float, kGrid> hann ();

/// What makes sums of cells mean gray levels a pixel; luma from -0.5 to 0.5.
struct CellScale {
  float per_length, per_luma;
};

/// What the cells of a square have: sums of gradients, [cell][direction], and of luma,
/// [cell][plane]; and their areas inside the frame.
struct SquareSums {
  std::span<const std::int64_t> gradients, luma;
  std::size_t luma_planes;
  std::vector<std::int64_t> areas;
  CellScale scale;
};

/// Gets the channels, [y][x][channel], and fades them out towards the border of the square.
void describe (const SquareSums &sums, std::vector<float> &channels);

}  // namespace inthist::correlation
