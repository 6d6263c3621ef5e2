// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Features: the properties of a pixel that are counted. A feature is a function from a pixel, and
// the pixels around it, to a value of 8 bits; a LUT then maps the value to a bin (binning.hpp).
// Each feature is one function in a file of this folder, compiled for the CPU and for CUDA, and one
// row of `kFeatures`.
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

/// The part of an image that a feature reads for the value of a pixel.
enum class Reads : std::uint8_t {
  luma,      // of the pixel
  luma_3x3,  // luma of 3x3 pixels; the image's border is repeated
  rgb,
  ycbcr  // of the pixel
};

/// The number of parts into which a joint feature (joint.hpp) divides each of its up to three
/// values. It is 0 for a value that the feature does not use.
using Quantization = std::array<std::uint8_t, 3>;

struct FeatureInfo {
  const char *nick, *blurb;
  Reads reads;
  int n_values;                    // values are 0 to n_values - 1; others are in no bin
  Quantization quantization = {};  // the default of a joint feature
  int bins = 0;                    // the only possible number of bins; 0: any
  bool is_bin = false;             // the value is the bin; if not, bins divide the values evenly
  bool is_cyclic = false;          // the first value follows the last, as for angles
  bool is_gradient = false;        // bins are sectors of a full or half turn (gradient.hpp)
  bool is_chroma = false;          // all gray pixels have the same value, or none
  const char *format = nullptr;    // the only video format that has the feature; null: any

  bool is_joint () const { return quantization[0] > 0; }
  /// Returns whether a value between the middles of two bins may count for both bins (soft bins).
  bool can_be_shared () const { return !is_bin || is_gradient; }
};

/// The value of a pixel that is in no bin.
inline constexpr std::uint8_t kNoValue = 255;

/// All features, by Feature. The values of the property `feature`, their checks, the caps that an
/// element accepts and the documentation are derived from this table.
inline constexpr FeatureInfo kFeatures[] = {
  { .nick = "luma", .blurb = "Brightness", .reads = Reads::luma, .n_values = 256 },
  { .nick = "labels",
    .blurb = "The number of the bin itself, such as a class map (GRAY8)",
    .reads = Reads::luma,
    .n_values = 256,
    .is_bin = true,
    .format = "GRAY8" },
  { .nick = "red", .blurb = "Red", .reads = Reads::rgb, .n_values = 256 },
  { .nick = "green", .blurb = "Green", .reads = Reads::rgb, .n_values = 256 },
  { .nick = "blue", .blurb = "Blue", .reads = Reads::rgb, .n_values = 256 },
  { .nick = "cb",
    .blurb = "Chroma: how blue",
    .reads = Reads::ycbcr,
    .n_values = 256,
    .is_chroma = true },
  { .nick = "cr",
    .blurb = "Chroma: how red",
    .reads = Reads::ycbcr,
    .n_values = 256,
    .is_chroma = true },
  { .nick = "hue",
    .blurb = "Hue, 0 to 179; pixels with saturation below 30 or value below 10 count nowhere",
    .reads = Reads::rgb,
    .n_values = 180,
    .is_cyclic = true,
    .is_chroma = true },
  { .nick = "saturation",
    .blurb = "Saturation of HSV",
    .reads = Reads::rgb,
    .n_values = 256,
    .is_chroma = true },
  { .nick = "value",
    .blurb = "Value of HSV, the largest of red, green and blue",
    .reads = Reads::rgb,
    .n_values = 256 },
  { .nick = "rgb",
    .blurb = "Red, green and blue together",
    .reads = Reads::rgb,
    .n_values = 256,
    .quantization = { 6, 6, 6 },
    .is_bin = true },
  { .nick = "ycbcr",
    .blurb = "Luma and both chroma values together",
    .reads = Reads::ycbcr,
    .n_values = 256,
    .quantization = { 4, 8, 8 },
    .is_bin = true },
  { .nick = "hue-saturation",
    .blurb = "Hue and saturation together",
    .reads = Reads::rgb,
    .n_values = 256,
    .quantization = { 16, 8, 0 },
    .is_bin = true,
    .is_chroma = true },
  { .nick = "hsv",
    .blurb = "Hue, saturation and value together",
    .reads = Reads::rgb,
    .n_values = 256,
    .quantization = { 16, 4, 4 },
    .is_bin = true },
  { .nick = "gradient",
    .blurb = "Orientation of luma's gradient, 0 to 180 degrees; flat pixels count nowhere",
    .reads = Reads::luma_3x3,
    .n_values = 180,
    .is_bin = true,
    .is_cyclic = true,
    .is_gradient = true },
  { .nick = "signed-gradient",
    .blurb = "Direction of luma's gradient, 0 to 360 degrees; flat pixels count nowhere",
    .reads = Reads::luma_3x3,
    .n_values = 180,
    .is_bin = true,
    .is_cyclic = true,
    .is_gradient = true },
  { .nick = "lbp",
    .blurb = "Local binary pattern of the 8 neighbours",
    .reads = Reads::luma_3x3,
    .n_values = 256,
    .bins = 256,
    .is_bin = true },
  { .nick = "uniform-lbp",
    .blurb = "Local binary pattern; patterns with more than two changes share one bin",
    .reads = Reads::luma_3x3,
    .n_values = 59,
    .bins = 59,
    .is_bin = true },
};

constexpr const FeatureInfo &info_of (Feature feature)
{
  return kFeatures[int (feature)];
}

}  // namespace inthist
