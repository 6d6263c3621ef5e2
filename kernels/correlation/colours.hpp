// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The formulas of a target's colours: how bins' shares of the pixels are learned, and scores.
#pragma once

#include <cmath>
#include <cstdint>

#include "../host_device.hpp"

namespace inthist::correlation {

inline constexpr double kColourRate = 0.04;
inline constexpr int kMaxColourBins = 256;

HOST_DEVICE inline double moved_share (double share, double count, double sum, double rate)
{
  return share + rate * ((sum > 0 ? count / sum : 0) - share);
}
/// Returns a bin's score, 0 to 255, from its shares of the pixels in and around the target.
HOST_DEVICE inline std::uint8_t colour_score (double target, double around)
{
  const double sum = target + around;
  return sum > 0 ? std::uint8_t (lround (255 * target / sum)) : 0;
}

}  // namespace inthist::correlation
