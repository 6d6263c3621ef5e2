// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Estimates how far a jerk of the camera has shifted the picture: the median distance between the
// expected and the detected places of targets, if most targets agree. A steady motion of the camera
// is part of the targets' velocities. Other trackers of boxes register two pictures for this (N.
// Aharon, R. Orfaig and B.-Z. Bobrovsky, "BoT-SORT: Robust associations multi-pedestrian tracking",
// 2022); this code reads no pixel.
#pragma once

#include <optional>
#include <span>

#include <gst/track/base/target_box.hpp>

namespace integralhist {

/// The shift of the whole picture between two frames, in pixels of the tensor.
struct Shift {
  double x, y;
};

struct BoxPair {
  TargetBox expected, found;
};

/// Returns the shift that most targets have in common. Returns nothing if there are fewer than four
/// targets, if they do not agree, or if the shift is so short that it may be their own motion.
std::optional<Shift> camera_shift (std::span<const BoxPair> targets);

inline TargetBox shifted (const TargetBox &box, const Shift &by)
{
  return { box.x + by.x, box.y + by.y, box.width, box.height };
}

}  // namespace integralhist
