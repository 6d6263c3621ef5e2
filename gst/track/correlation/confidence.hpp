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
/// heights of the peak and of the colours' score divided by the usual ones.
struct Evidence {
  double sharpness = 0;
  double peak_ratio = 0;
  double colour_ratio = 0;
};

/// Returns the confidence that the target is at the best place, 0 to 1.
inline double match_confidence (const Evidence &evidence)
{
  constexpr double kSharpnessWeight = 1.8, kPeakWeight = 0.75, kMaxPeakRatio = 1.5,
                   kColourWeight = 1.6, kMaxColourRatio = 1.2, kOffset = 6.4;
  const double sum = kSharpnessWeight * std::log (std::max (evidence.sharpness, 0.1))
                     + kPeakWeight * std::clamp (evidence.peak_ratio, 0.0, kMaxPeakRatio)
                     + kColourWeight * std::clamp (evidence.colour_ratio, 0.0, kMaxColourRatio)
                     - kOffset;
  return 1 / (1 + std::exp (-sum));
}

}  // namespace integralhist
