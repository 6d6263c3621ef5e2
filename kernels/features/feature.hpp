// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Features: what of a pixel is counted. A feature is a function from a pixel, and what is around
// it, to a value of 8 bits; a LUT then makes a bin of the value (binning.hpp). Each is one function
// in a file of this folder, compiled for the CPU and for CUDA, and one row of `kFeatures`.
#pragma once

#include <array>
#include <cstdint>

namespace inthist {

enum class Feature : std::uint8_t {
  luma,
  labels,
  red,
  green,
  blue,
  cb,
  cr,
  hue,
  saturation,
  value,
  rgb,
  ycbcr,
  hue_saturation,
  hsv,
  gradient,
  signed_gradient,
  lbp,
  uniform_lbp,
};

/// What a feature reads of an image.
enum class Reads : std::uint8_t {
  luma,      // of the pixel
  luma_3x3,  // of the pixel and its neighbours; the border's are repeated outside
  rgb,
  ycbcr  // of the pixel
};

/// Into how many parts a joint feature divides each of its values; 0 for values that it lacks.
using Quantization = std::array<std::uint8_t, 3>;

struct FeatureInfo {
  const char *nick, *blurb;
  Reads reads;
  int n_values;                  // so many, 0 to n_values - 1; others are in no bin
  Quantization quantization;     // of a joint feature, the default
  int bins = 0;                  // of a feature that has so many, and no others
  bool is_bin = false;           // the value is the bin; else values are divided into bins evenly
  bool is_cyclic = false;        // the first value follows the last
  const char *format = nullptr;  // the name of the one format that has it; null for any

  bool is_joint () const { return quantization[0] > 0; }
  bool is_gradient () const { return reads == Reads::luma_3x3 && bins == 0; }
  /// Returns whether a value lies between two bins, which may share it.
  bool can_be_shared () const { return !is_bin || is_gradient (); }
};

/// The value of a pixel that is in no bin.
inline constexpr std::uint8_t kNoValue = 255;

/// All features, by Feature. The property `feature`, its checks, the caps that an element takes
/// with it and the documentation come from this table.
inline constexpr FeatureInfo kFeatures[] = {
  { "luma", "Brightness", Reads::luma, 256, {} },
  { "labels",
    "The pixel is its bin, as of a classifier (GRAY8)",
    Reads::luma,
    256,
    {},
    0,
    true,
    false,
    "GRAY8" },
  { "red", "Red", Reads::rgb, 256, {} },
  { "green", "Green", Reads::rgb, 256, {} },
  { "blue", "Blue", Reads::rgb, 256, {} },
  { "cb", "Difference of blue and luma", Reads::ycbcr, 256, {} },
  { "cr", "Difference of red and luma", Reads::ycbcr, 256, {} },
  { "hue",
    "Hue, 0 to 179; pixels with saturation below 30 or value below 10 count nowhere",
    Reads::rgb,
    180,
    {},
    0,
    false,
    true },
  { "saturation", "Saturation of HSV", Reads::rgb, 256, {} },
  { "value", "Value of HSV, the largest of red, green and blue", Reads::rgb, 256, {} },
  { "rgb", "Red, green and blue together", Reads::rgb, 256, { 6, 6, 6 }, 0, true },
  { "ycbcr", "Luma and both differences together", Reads::ycbcr, 256, { 4, 8, 8 }, 0, true },
  { "hue-saturation", "Hue and saturation together", Reads::rgb, 256, { 16, 8, 0 }, 0, true },
  { "hsv", "Hue, saturation and value together", Reads::rgb, 256, { 16, 4, 4 }, 0, true },
  { "gradient",
    "Orientation of luma's gradient, 0 to 180 degrees; flat pixels count nowhere",
    Reads::luma_3x3,
    180,
    {},
    0,
    true,
    true },
  { "signed-gradient",
    "Direction of luma's gradient, 0 to 360 degrees; flat pixels count nowhere",
    Reads::luma_3x3,
    180,
    {},
    0,
    true,
    true },
  { "lbp", "Local binary pattern of the 8 neighbours", Reads::luma_3x3, 256, {}, 256, true },
  { "uniform-lbp",
    "Local binary pattern, with all of more than two changes in one bin",
    Reads::luma_3x3,
    59,
    {},
    59,
    true },
};

constexpr const FeatureInfo &info_of (Feature feature)
{
  return kFeatures[int (feature)];
}

}  // namespace inthist
