// SPDX-License-Identifier: LGPL-2.1-or-later
#include "frame_quality.hpp"

namespace integralhist {

static constexpr double kBadCost = 1.8, kBadShare = 0.9, kSuspiciousCost = 1.3,
                        kSuspiciousShare = 0.8;

FrameQuality assess_frame (const FrameCosts &costs, std::optional<double> usual,
                           const FragmentsSettings &settings, unsigned lost_after)
{
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
