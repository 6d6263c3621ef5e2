// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The formulas of a target's colours: how the shares of bins are learned, and the scores of bins.
#pragma once

#include <cmath>
#include <cstdint>

#include "../host_device.hpp"

namespace inthist::correlation {

inline constexpr double kColourRate = 0.04;
inline constexpr int kMaxColourBins = 256;

/// Returns a bin's share of the pixels, moved by `rate` towards the share in the counts.
INTHIST_HOST_DEVICE inline double moved_share (double share, double count, double sum, double rate)
{
  return share + rate * ((sum > 0 ? count / sum : 0) - share);
}
/// Returns the score of a bin: the target's share of the target's and the surroundings' pixels.
INTHIST_HOST_DEVICE inline std::uint8_t colour_score (double target, double around)
{
  const double sum = target + around;
  return sum > 0 ? std::uint8_t (lround (255 * target / sum)) : 0;
}

}  // namespace inthist::correlation
