// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Parsers of the two properties that say what integralhistlikelihood looks for, as those of
// base/parse.hpp.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <gst/elements/base/parse.hpp>

namespace integralhist {

/// Parses the property `model`: none or one region.
Expected<std::optional<GstVideoRectangle>> parse_model (std::string_view text);

/// A model in numbers, and what these are of where the text says it.
struct WrittenHistogram {
  std::vector<gfloat> bins;  // may be empty
  std::optional<inthist::Feature> feature;
  std::optional<inthist::Quantization> quantization;
};

/// Parses the property `histogram`: none, or a number >= 0 for each bin, not all 0;
/// with `any_numbers` they are weights of any sign. Before them the feature may stand, and its
/// parts: "hue-saturation 2,2: 5,0,1,0".
Expected<WrittenHistogram> parse_histogram (std::string_view text, bool any_numbers = false);

}  // namespace integralhist
