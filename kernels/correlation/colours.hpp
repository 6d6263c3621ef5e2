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

/// Returns a bin's new share of the pixels: `share`, moved by `rate` towards count / sum.
INTHIST_HOST_DEVICE inline double moved_share (double share, double count, double sum, double rate)
{
  return share + rate * ((sum > 0 ? count / sum : 0) - share);
}
/// Returns the score of a bin, given its share of the target's pixels and of the pixels around it.
INTHIST_HOST_DEVICE inline std::uint8_t colour_score (double target, double around)
{
  const double sum = target + around;
  return sum > 0 ? std::uint8_t (lround (255 * target / sum)) : 0;
}

}  // namespace inthist::correlation
