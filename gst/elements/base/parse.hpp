// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Parsers of the texts of GStreamer properties. Each parser accepts any bytes, and refuses a text
// with an Error::Kind::bad_setting that quotes the text and says what to write instead.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <gst/video/video.h>

#include <kernels/binning.hpp>
#include <kernels/shape.hpp>

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

/// Parses the property `name`: regions in pixels, at least 1x1, as "x,y,width,height;...".
Expected<std::vector<GstVideoRectangle>> parse_regions (std::string_view text,
                                                        const char *name = "regions");

/// Parses the property `feature` of an element that reads histograms: a feature's nick, or empty.
Expected<std::optional<inthist::Feature>> parse_feature (std::string_view text);

/// Parses the property `name`, a quantization: into how many parts a joint feature divides each of
/// its values, such as "16,4,4". An empty text means the feature's default, and is the only valid
/// text for a feature that is not joint.
Expected<inthist::Quantization> parse_quantization (std::string_view text, inthist::Feature feature,
                                                    const char *name = "quantization");

/// A parsed lookup table (LUT) from values to bins or scores; the text has `n` numbers.
struct ParsedLut {
  inthist::Lut lut;
  int n = 0;
};

/// Parses a lookup table of the property `name`: 1 to 256 numbers from 0 to 255, separated by
/// commas or white space. The first number is the bin of value 0, or the score that a summed-area
/// table adds for it. Values without a number are in no bin, or have score 0.
Expected<ParsedLut> parse_lut (std::string_view text, const char *name,
                               inthist::Content content = inthist::Content::bins);

/// Parses a list of CUDA device numbers, such as "0,1,2"; no device may be listed twice.
Expected<std::vector<int>> parse_device_ids (std::string_view text);

}  // namespace integralhist
