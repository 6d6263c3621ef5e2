// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The confidence: how likely the target is at the place with the highest response (tracker.hpp). It
// is a logistic function of three measurements: how far the filter's peak stands out of the rest of
// its response (the ratio of peak and sidelobes; D. Bolme et al., "Visual object tracking using
// adaptive correlation filters", CVPR 2010); how high the peak is compared with the usual peak; and
// how much the place has of the target's colours, which a filter that has learned the background
// does not see. With a confidence of 0.8, eight of ten places should be right: the place overlaps
// the target by half. docs/measurements/2026-11-28-colours-and-confidence.md says how the numbers
// were found.
#pragma once

#include <algorithm>
#include <cmath>

namespace integralhist {

/// The measurements at a search's best place: how sharp the filter's peak is (match.hpp), and the
/// heights of the peak and of the colours' score as shares of the usual ones.
struct Evidence {
  double sharpness = 0;
  double share = 0;
  double colour_share = 0;
};

/// Returns the confidence that the target is at the best place, 0 to 1.
inline double match_confidence (const Evidence &evidence)
{
  constexpr double kSharpness = 1.8, kShare = 0.75, kMaxShare = 1.5, kColourShare = 1.6,
                   kMaxColourShare = 1.2, kLess = 6.4;
  const double sum = kSharpness * std::log (std::max (evidence.sharpness, 0.1))
                     + kShare * std::clamp (evidence.share, 0.0, kMaxShare)
                     + kColourShare * std::clamp (evidence.colour_share, 0.0, kMaxColourShare)
                     - kLess;
  return 1 / (1 + std::exp (-sum));
}

}  // namespace integralhist
