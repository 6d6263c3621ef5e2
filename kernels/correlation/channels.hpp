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

/// Returns the factors that fade out a square's channels along either axis.
std::array<float, kGrid> hann ();

/// Gets the channels, [y][x][channel], and fades them out towards the border of the square.
void describe (const SquareSums &sums, std::vector<float> &channels);

/// Gets the sample of a box at one size: the orientations of the cells of the box, divided in the
/// same way as the channels.
void sample_size (const SizeJob &job);

}  // namespace inthist::correlation
