// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Texts for, and checks of, the settings that define a histogram's bins (HistogramSpec).
#pragma once

#include <string>

#include <gst/integralhist/base/error.hpp>

#include "histogram.hpp"

namespace integralhist {

inline const HistogramSpec &spec_of (const GstIntegralHistogram *histogram)
{
  return histogram->spec;
}

/// Returns the quantization of a joint feature as text of the property `quantization`: "16,8".
inline std::string text_of (const inthist::Quantization &quantization)
{
  std::string text;
  for (const int parts : quantization)
    if (parts > 0)
      text += joined (text.empty () ? "" : ",", parts);
  return text;
}

/// Returns whether a feature itself defines the number of bins, so the property `bins` is ignored.
inline bool has_own_bins (inthist::Feature feature)
{
  const inthist::FeatureInfo &info = inthist::info_of (feature);
  return info.bins > 0 || info.is_joint ();
}

/// Returns a histogram's settings as properties of the element cudaintegralhist, such as
/// "feature=hue-saturation quantization=16,8".
inline std::string settings_of (const HistogramSpec &spec)
{
  const std::string parts = text_of (spec.quantization);
  return joined (
      "feature=", inthist::info_of (spec.feature).nick,
      parts.empty () ? "" : " quantization=", parts,
      spec.weight == inthist::Weight::gradient ? " weight=gradient" : "",
      spec.soft ? " soft=true" : "",
      spec.range ? joined (" first-bin=", spec.range->first_bin, " n-bins=", spec.range->bins) : "",
      spec.has_lut ? " and a lut" : "");
}

inline Expected<> check_all_bins (const GstIntegralHistogram *histogram)
{
  const HistogramSpec &spec = spec_of (histogram);
  if (!spec.range)
    return {};
  return error (Error::Kind::bad_setting, "The frames' integral histogram of ",
                inthist::info_of (spec.feature).nick, " has ", describe (*spec.range),
                ", but this element needs all: set first-bin=0 n-bins=0 of cudaintegralhist");
}

}  // namespace integralhist
