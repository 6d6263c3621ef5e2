// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which detection is of which target. A target is expected at two places: where it was followed to,
// and where its last detections say that it goes on to. The better a detection overlaps one of
// them, the nearer it is, and the more alike it looks, the more is gained by pairing both; the
// pairs with the largest sum count. A detection beside both places may be a target's if it looks
// like it and is as large: targets are lost, and followed wrongly. It may be as far away as the
// target can have come.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include <gst/track/base/target_box.hpp>

#include "appearance.hpp"

namespace integralhist {

/// A target as a detection may find it.
struct SoughtTarget {
  std::array<TargetBox, 2> places;  // where it is expected, by one account and by another
  bool is_present;                  // the detector has seen it when it looked last
  double reach;                     // how far from there it may be, in sides of its box
  Appearance appearance;
  std::string kind;  // of its last detection; empty where it has none
};

/// A detection as a target is sought in it.
struct SoughtDetection {
  TargetBox box;
  Appearance appearance;
  std::string kind;
};

/// Returns the detection of each target, or -1.
std::vector<int> match_detections (std::span<const SoughtTarget> targets,
                                   std::span<const SoughtDetection> detections);

/// Returns whether two boxes are one object, and not two that are close.
bool are_on_one_spot (const TargetBox &a, const TargetBox &b);

}  // namespace integralhist
