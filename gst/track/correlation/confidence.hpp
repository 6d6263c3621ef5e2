// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The confidence: how likely the target is at the place with the highest response.
//
// The evidence of one frame is how far the filter's peak stands out of the rest of its response
// (the ratio of peak and sidelobes; D. Bolme et al., "Visual object tracking using adaptive
// correlation filters", CVPR 2010), how high the peak is compared with the usual peak, and how much
// the place has of the target's colours. A logistic function of these three tells whether the
// target is visible (docs/measurements/2026-11-28-colours-and-confidence.md).
//
// A filter that has learned the background is sure of it, so the frames before count too. A place
// is less likely right the longer the target is followed, the lower the peak once was, the less the
// target's colours differ from those around it, and at the edge of the frame. With a confidence of
// 0.8, eight of ten places should be right: the place overlaps the target by half.
// docs/measurements/2026-12-01-confidence.md says how the numbers were found.
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

/// A summary of the frames before, which begins anew when a box is given or detected.
struct TrackRecord {
  double usual_score = 0;       // of the target's colours, 0 to 1
  double least_peak_ratio = 0;  // the least Evidence::peak_ratio, also while the target is lost;
                                // it recovers slowly
  unsigned age = 0;             // frames
  bool is_at_edge = false;      // whether the box at the best place touches the frame's edge
};

/// Returns the odds of a logarithm as a probability, 0 to 1.
inline double probability_of (double log_odds)
{
  return 1 / (1 + std::exp (-log_odds));
}

/// Returns the logarithm of the odds that the target is visible, from one frame alone.
inline double visible_log_odds (const Evidence &evidence)
{
  constexpr double kSharpnessWeight = 1.8, kPeakWeight = 0.75, kMaxPeakRatio = 1.5,
                   kColourWeight = 1.6, kMaxColourRatio = 1.2, kOffset = 6.4;
  return kSharpnessWeight * std::log (std::max (evidence.sharpness, 0.1))
         + kPeakWeight * std::clamp (evidence.peak_ratio, 0.0, kMaxPeakRatio)
         + kColourWeight * std::clamp (evidence.colour_ratio, 0.0, kMaxColourRatio) - kOffset;
}

/// Returns the confidence that the target is at the best place, 0 to 1. Numbers are clamped to the
/// range of those that the weights were fitted to, but a frame without evidence gives about 0.
inline double match_confidence (const Evidence &evidence, const TrackRecord &record)
{
  constexpr double kEvidenceWeight = 0.67, kScoreWeight = 13, kLeastPeakWeight = 5.1,
                   kAgeWeight = -0.75, kEdgeWeight = -3.1, kOffset = -6.7;
  const double log_odds = kEvidenceWeight * std::min (visible_log_odds (evidence), 3.4)
                          + kScoreWeight * std::clamp (record.usual_score, 0.52, 0.74)
                          + kLeastPeakWeight * std::clamp (record.least_peak_ratio, 0.16, 0.97)
                          + kAgeWeight * std::log (std::clamp (double (record.age), 8.0, 1000.0))
                          + (record.is_at_edge ? kEdgeWeight : 0) + kOffset;
  return probability_of (log_odds);
}

}  // namespace integralhist
