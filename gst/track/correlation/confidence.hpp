// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How likely a target is where the filter's response is highest. It is a logistic function of how
// far the peak stands out of the rest of the response (the ratio of peak and sidelobes; D. Bolme et
// al., "Visual object tracking using adaptive correlation filters", CVPR 2010), and of how high it
// is beside the usual peak. So of places with a confidence of 0.8 eight of ten shall be right: the
// place overlaps the target by half. docs/tracking.md says how the numbers were found.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>

#include "cells.hpp"

namespace integralhist {

/// What a response tells of its peak.
struct Evidence {
  double sharpness = 0;  // see sharpness_of
  double share = 0;      // of the usual peak
};

/// Returns how far a response of kGrid x kGrid shifts stands out at one of them: in standard
/// deviations of those further away than 5 cells each way, above their mean.
inline double sharpness_of (std::span<const float> response, int row, int column)
{
  constexpr int kNear = 5;
  const auto apart = [] (int a, int b) {
    const int cells = std::abs (a - b);
    return std::min (cells, kGrid - cells);
  };
  double sum = 0, squares = 0;
  int n = 0;
  for (int y = 0; y < kGrid; y++)
    for (int x = 0; x < kGrid; x++)
      if (apart (y, row) > kNear || apart (x, column) > kNear) {
        const double value = response[std::size_t (y) * kGrid + x];
        sum += value, squares += value * value;
        n++;
      }
  const double mean = sum / n, variance = squares / n - mean * mean;
  return (response[std::size_t (row) * kGrid + column] - mean)
         / std::sqrt (std::max (variance, 1e-12));
}

/// Returns the confidence, which grows with both.
inline double confidence_of (const Evidence &evidence)
{
  constexpr double kSharpness = 0.8, kShare = 1.8, kMaxShare = 1.5, kLess = 2;
  const double sum = kSharpness * std::log (std::max (evidence.sharpness, 0.1))
                     + kShare * std::clamp (evidence.share, 0.0, kMaxShare) - kLess;
  return 1 / (1 + std::exp (-sum));
}

}  // namespace integralhist
