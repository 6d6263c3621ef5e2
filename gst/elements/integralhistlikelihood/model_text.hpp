// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Parsers of the properties `model` and `histogram` of integralhistlikelihood.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <gst/elements/base/parse.hpp>

namespace integralhist {

/// Parses the property `model`: one region, "x,y,width,height" in pixels, or empty.
Expected<std::optional<GstVideoRectangle>> parse_model (std::string_view text);

/// The numbers of the property `histogram`, and the feature of the bins if the text names it.
struct WrittenHistogram {
  std::vector<gfloat> bins;  // may be empty
  std::optional<inthist::Feature> feature;
  std::optional<inthist::Quantization> quantization;
};

/// Parses the property `histogram`: empty, or a number >= 0 for each bin, not all 0. With
/// `any_numbers` the numbers are weights of any sign. The feature and the feature's parts may come
/// first: "hue-saturation 2,2: 5,0,1,0".
Expected<WrittenHistogram> parse_histogram (std::string_view text, bool any_numbers = false);

}  // namespace integralhist
