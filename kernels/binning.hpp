// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <array>
#include <cstdint>

#include "pixel_format.hpp"

namespace inthist {

/// Maps a value to its bin. A pixel whose entry is Shape::bins or more is in no bin.
using Lut = std::array<std::uint8_t, 256>;

/// Maps each value to value * bins / 256.
Lut uniform_lut (int bins);

/// Maps a feature's values to bins: each value to itself, or the values evenly to all bins. Other
/// values are in no bin, except value 255 if there are 256 bins.
Lut lut_of_feature (Feature feature, int bins);

/// Keeps bins first..first + bins - 1, numbered from 0, to compute a group of bins on its own.
Lut lut_of_bins (const Lut &lut, int first, int bins);

/// Tells how pixels become bins. The image must stay until the stream has passed.
struct Binning {
  Image image;
  Lut lut;
};

}  // namespace inthist
