// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Parsers of properties' texts. Each accepts any bytes, and refuses a text with an
// Error::Kind::bad_setting that quotes the text and says what to write.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <gst/video/video.h>

#include <kernels/binning.hpp>
#include <kernels/shape.hpp>

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

/// Parses "x,y,w,h;x,y,w,h" of the property `name`; widths and heights are at least one pixel.
Expected<std::vector<GstVideoRectangle>> parse_regions (std::string_view text,
                                                        const char *name = "regions");

/// Parses the property `feature` of a consumer: a feature's nick, or empty for any feature.
Expected<std::optional<inthist::Feature>> parse_feature (std::string_view text);

/// Parses the property `name`: how many parts a joint feature makes of each of its values, such as
/// "16,4,4"; empty for the default. A feature that is not joint has no parts.
Expected<inthist::Quantization> parse_quantization (std::string_view text, inthist::Feature feature,
                                                    const char *name = "quantization");

/// A LUT from values to bins, and how many numbers its text has.
struct ParsedLut {
  inthist::Lut lut;
  int n = 0;
};

/// Parses the property `name`, a LUT from values to bins, or to the scores that summed-area tables
/// add up: 1 to 256 numbers of 0 to 255, separated by a comma or white space. Values without a
/// number are in no bin, or have score 0.
Expected<ParsedLut> parse_lut (std::string_view text, const char *name,
                               inthist::Content content = inthist::Content::bins);

/// Parses a list of CUDA devices, such as "0,1,2". A device that is listed twice is an error.
Expected<std::vector<int>> parse_device_ids (std::string_view text);

}  // namespace integralhist
