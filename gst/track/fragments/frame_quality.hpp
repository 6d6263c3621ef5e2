// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tells whether a frame shows a target of the fragments tracker. A cost alone does not show that,
// so the target counts as hidden if no position stands out, or if the best one costs too much.
//
// Let V be the least cost, p its share of the median cost of the positions, and m the median cost
// of the last good frames. A frame is bad if p > 1 - min_confidence, or if V > 1.8 m and p > 0.9.
// With few positions to compare, or equal costs, V > 1.8 m decides. A frame is suspicious if
// V > 1.3 m and p > 0.8.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

#include "fragments_settings.hpp"

namespace integralhist {

/// Measures are not exact: costs are equal if they differ by less, or by less than this share.
inline constexpr double kCostTolerance = 1e-5;

/// The costs of a target's positions in a frame: the least one (V), at the best scale, and the
/// median of all positions at the box's present scale.
struct FrameCosts {
  double least;
  double median;
  std::size_t positions;
};

/// How good a frame is for a target. On uniform ground, where costs are equal, a target stays.
struct FrameQuality {
  double share;  // p, of the median cost
  bool moves;
  enum class Grade { good, suspicious, bad } grade;
};

/// Returns a cost as a share of the median cost: near 0 if its position stands out, or 1.
inline double share_of_median (double cost, double median)
{
  return median - cost <= kCostTolerance * std::max (1.0, median) ? 1 : cost / median;
}

/// Grades a frame. `usual` is m; without it, all frames are good. If `lost_after` is 0, no frame is
/// bad.
inline FrameQuality assess_frame (const FrameCosts &costs, std::optional<double> usual,
                                  const FragmentsSettings &settings, unsigned lost_after)
{
  constexpr double kBadCost = 1.8, kBadShare = 0.9, kSuspiciousCost = 1.3, kSuspiciousShare = 0.8;
  const double share = share_of_median (costs.least, costs.median);
  const auto costs_more = [&] (double times) {
    return usual && costs.least > times * *usual + kCostTolerance;
  };
  // The least cost can be compared with the median only if there are at least half as many
  // positions as in a search away from the frame's border.
  const double side = 2.0 * settings.search_range + 1;
  const bool has_enough_positions = double (costs.positions) >= side * side / 2;
  const bool all_same = share == 1 && !costs_more (kBadCost);
  const bool stands_out = share <= 1 - settings.min_confidence || all_same || !has_enough_positions;
  const bool bad =
      usual && lost_after > 0
      && ((costs_more (kBadCost) && (share > kBadShare || !has_enough_positions)) || !stands_out);
  const bool suspicious = costs_more (kSuspiciousCost) && share > kSuspiciousShare;
  return { share, !all_same,
           bad          ? FrameQuality::Grade::bad
           : suspicious ? FrameQuality::Grade::suspicious
                        : FrameQuality::Grade::good };
}

}  // namespace integralhist
