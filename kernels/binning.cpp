// SPDX-License-Identifier: LGPL-2.1-or-later
#include "binning.hpp"

namespace inthist {

Lut uniform_lut (int bins)
{
  Lut lut;
  for (int value = 0; value < 256; value++)
    lut[value] = std::uint8_t (value * bins / 256);
  return lut;
}

Lut lut_of_feature (Feature feature, int bins)
{
  const FeatureInfo &info = info_of (feature);
  Lut lut;
  for (int value = 0; value < 256; value++)
    lut[value] = std::uint8_t (info.is_bin             ? value
                               : value < info.n_values ? value * bins / info.n_values
                                                       : kNoValue);
  return lut;
}

Lut lut_of_bins (const Lut &lut, int first, int bins)
{
  Lut group;
  for (int value = 0; value < 256; value++) {
    const int bin = lut[value] - first;
    group[value] = bin >= 0 && bin < bins ? std::uint8_t (bin) : 255;
  }
  return group;
}

}  // namespace inthist
