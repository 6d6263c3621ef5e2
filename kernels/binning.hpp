// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <array>
#include <cstdint>

#include "pixel_format.hpp"

namespace inthist {

/// A lookup table from a pixel's value to its bin; entries from Shape::bins on mean: in no bin.
using Lut = std::array<std::uint8_t, 256>;

/// Returns a LUT that maps each value from 0 to 255 to bin value * bins / 256.
Lut uniform_lut (int bins);

/// Returns the LUT of a feature: each value is its own bin (FeatureInfo::is_bin), or all values are
/// divided evenly among the bins. Bytes that are not values of the feature are in no bin, except
/// 255 if there are 256 bins.
Lut lut_of_feature (Feature feature, int bins);

/// Returns a LUT with only bins first..first + bins - 1 of `lut`, renumbered from 0, so that a
/// group of bins can be computed on its own.
Lut lut_of_bins (const Lut &lut, int first, int bins);

/// An image, and the LUT that turns the values of its pixels into bins. The image must stay valid
/// until the work on the CUDA stream is done.
struct Binning {
  Image image;
  Lut lut;
};

}  // namespace inthist
