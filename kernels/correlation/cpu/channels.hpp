// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The channels of a square of cells, which correlation filters look at: the HOG variant of P.
// Felzenszwalb et al., "Object detection with discriminatively trained part-based models", PAMI
// 2010. They are 18 directions of the gradient and 9 orientations, each divided by the energy of
// the four blocks of cells around and clipped; four sums of clipped directions, one for each block;
// and luma.
#pragma once

#include <array>
#include <vector>

#include "../formulas.hpp"

namespace inthist::correlation {

/// Returns a Hann window: factors along an axis that fade out a square's channels at its border.
std::array<float, kGrid> hann ();

/// Computes the channels of a square of cells, [y][x][channel], and fades them out at the border.
void describe (const SquareSums &sums, std::vector<float> &channels);

/// Computes the sample of a box at one size (sizes.hpp): the orientations of the gradients in the
/// box's cells, divided by the energy of blocks of cells, as for the channels of a square.
void sample_size (const SizeJob &job);

}  // namespace inthist::correlation
