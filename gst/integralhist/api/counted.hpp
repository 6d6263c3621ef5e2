// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a histogram's bins are of, for those who compare histograms, and for what they say.
#pragma once

#include <string>

#include <gst/integralhist/base/error.hpp>
#include "histogram.hpp"

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
  return joined (
      "feature=", inthist::info_of (counted.feature).nick,
      parts.empty () ? "" : " quantization=", parts,
      counted.weight == inthist::Weight::gradient ? " weight=gradient" : "",
      counted.soft ? " soft=true" : "",
      counted.part ? joined (" first-bin=", counted.part->first_bin, " n-bins=", counted.part->bins)
                   : "",
      counted.has_lut ? " and a lut" : "");
}

/// Refuses a range of the bins, for those who compare histograms.
inline Expected<> want_all_bins (const GstIntegralHistogram *histogram)
{
  const Counted &counted = counted_of (histogram);
  if (!counted.part)
    return {};
  return error (Error::Kind::bad_setting, "The frames' integral histogram of ",
                inthist::info_of (counted.feature).nick, " has ", describe (*counted.part),
                ", and this element wants all: set first-bin=0 n-bins=0 of cudaintegralhist");
}

}  // namespace integralhist
