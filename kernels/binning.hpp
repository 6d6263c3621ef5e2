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

/// Maps the values of a feature to bins: each value to itself (FeatureInfo::is_bin), or all values
/// evenly to the bins. Bytes that are not values of the feature are in no bin, except 255 if there
/// are 256 bins.
Lut lut_of_feature (Feature feature, int bins);

/// Returns a LUT with only bins first..first + bins - 1 of `lut`, renumbered from 0, so that a
/// group of bins can be computed on its own.
Lut lut_of_bins (const Lut &lut, int first, int bins);

/// Tells how the pixels of an image become bins. The image must stay valid until the work on the
/// stream is done.
struct Binning {
  Image image;
  Lut lut;
};

}  // namespace inthist
