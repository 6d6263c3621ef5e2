// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The channels of a square of cells, which correlation filters look at.
//
// The channels are the HOG variant of P. Felzenszwalb et al., "Object detection with
// discriminatively trained part-based models", PAMI 2010: 18 directions of the gradient and 9
// orientations, each divided by the energy of the four blocks of cells around and clipped; four
// sums of clipped directions, one for each block; and luma.
#pragma once

#include <array>
#include <vector>

#include "formulas.hpp"

namespace inthist::correlation {

/// Returns a Hann window: the factors that fade out the channels of a square towards its border,
/// the same along both axes.
std::array<float, kGrid> hann ();

/// Computes the channels of a square of cells, stored as [y][x][channel], and fades them out
/// towards the border of the square.
void describe (const SquareSums &sums, std::vector<float> &channels);

/// Computes the sample of a box at one size (sizes.hpp): the orientations of the cells of the box,
/// divided by the energy of blocks of cells like the channels.
void sample_size (const SizeJob &job);

}  // namespace inthist::correlation
