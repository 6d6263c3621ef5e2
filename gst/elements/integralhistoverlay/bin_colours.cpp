// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <cmath>

#include "overlay_painter.hpp"

namespace integralhist {

/// Converts a colour from HSV to RGB. All values are from 0 to 1; a hue of 1 is a full turn.
static Colour of_hsv (double hue, double saturation, double value)
{
  const auto part = [&] (double turned) {
    const double sixth = std::fmod (6 * hue + turned, 6);
    return value * (1 - saturation * std::clamp (std::min (sixth, 4 - sixth), 0.0, 1.0));
  };
  return { part (5), part (3), part (1) };
}

/// Converts a colour from YCbCr (BT.709, full range) to RGB. All values are from 0 to 1.
static Colour of_ycbcr (double y, double cb, double cr)
{
  const auto inside = [] (double part) { return std::clamp (part, 0.0, 1.0); };
  return { inside (y + 1.5748 * (cr - 0.5)), inside (y - 0.1873 * (cb - 0.5) - 0.4681 * (cr - 0.5)),
           inside (y + 1.8556 * (cb - 0.5)) };
}

std::vector<Colour> bin_colours (const HistogramSpec &spec, int bins)
{
  using inthist::Feature;
  Colour (*colour_of) (double, double, double) = nullptr;
  int parts[3] = { bins, 1, 1 };
  if (inthist::info_of (spec.feature).is_joint ())
    std::ranges::transform (spec.quantization, parts, [] (int part) { return std::max (part, 1); });
  if (spec.feature == Feature::hue)
    colour_of = [] (double hue, double, double) { return of_hsv (hue, 1, 1); };
  else if (spec.feature == Feature::hue_saturation)
    colour_of = [] (double hue, double saturation, double) { return of_hsv (hue, saturation, 1); };
  else if (spec.feature == Feature::hsv)
    colour_of = of_hsv;
  else if (spec.feature == Feature::rgb)
    colour_of = [] (double red, double green, double blue) { return Colour{ red, green, blue }; };
  else if (spec.feature == Feature::ycbcr)
    colour_of = of_ycbcr;
  std::vector<Colour> colours;
  if (!colour_of || spec.has_lut)
    return colours;
  const auto middle = [&] (int part, int n) { return (part + 0.5) / n; };
  for (int bin = 0; bin < bins; bin++)
    colours.push_back (colour_of (middle (bin / parts[2] / parts[1], parts[0]),
                                  middle (bin / parts[2] % parts[1], parts[1]),
                                  middle (bin % parts[2], parts[2])));
  return colours;
}

}  // namespace integralhist
