// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a histogram's bins are of, for those who compare histograms, and for what they say.
#pragma once

#include <string>

#include <gst/integralhist/error.hpp>
#include <gst/integralhist/histogram.hpp>

namespace integralhist {

inline const Counted &counted_of (const GstIntegralHistogram *histogram)
{
  return histogram->counted;
}

/// Returns the parts as the property `quantization` has them, "16,8"; empty for none.
inline std::string text_of (const inthist::Quantization &quantization)
{
  std::string text;
  for (const int parts : quantization)
    if (parts > 0)
      text += joined (text.empty () ? "" : ",", parts);
  return text;
}

/// Returns the properties of cudaintegralhist, "feature=hue-saturation quantization=16,8".
inline std::string settings_of (const Counted &counted)
{
  const std::string parts = text_of (counted.quantization);
  return joined ("feature=", inthist::info_of (counted.feature).nick,
                 parts.empty () ? "" : " quantization=", parts,
                 counted.weight == inthist::Weight::gradient ? " weight=gradient" : "",
                 counted.soft ? " soft=true" : "", counted.has_lut ? " and a lut" : "");
}

}  // namespace integralhist
