// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracked_target.hpp"

#include <cmath>

namespace integralhist {

// How far a target may be from its predicted place after one frame, in sides of its box.
static constexpr double kMotionSpread = 0.5;

// The standard deviation of a target's expected place, in heights of its box. It grows with the
// number of frames since the target was last seen and detected (spread_of ()), each of which counts
// as `relative_speed` frames (MeanSpeed).
static constexpr double kSpread = 0.05;
static constexpr double kSpreadOfFrame = 0.02;
static constexpr double kSpreadOfRoot = 0.06;
static constexpr double kSpreadOfFollowing = 0.01;
static constexpr double kMaxFollowing = 20;  // frames at the usual speed
static constexpr double kMaxSpread = 8;
static constexpr double kSpreadOfDetection = 0.1;
static constexpr double kSizeGain = 0.5;  // times the gain for places

static double spread_of (double unseen, double undetected)
{
  return std::min (kSpread + kSpreadOfFrame * unseen + kSpreadOfRoot * std::sqrt (unseen)
                       + kSpreadOfFollowing * std::min (undetected, kMaxFollowing),
                   kMaxSpread);
}

void TrackedTarget::note_detection (const Detection &detection, const TargetBox &box,
                                    GstClockTime time)
{
  is_detected_now = true;
  misses = 0;
  n_detections++;
  last_detected = time;
  class_name = detection.class_name;
  detection_confidence = detection.confidence;
  motion.note_detected (box);
}

std::vector<ExpectedBox> TrackedTarget::expected_boxes (double relative_speed) const
{
  const double unseen = relative_speed * (motion.unseen () + 1),
               undetected = relative_speed * (motion.undetected () + 1);
  const TargetBox seen = last_seen_box ();
  return { { motion.expected (seen), spread_of (unseen, undetected) },
           { motion.expected_by_detections (seen), spread_of (undetected, undetected) } };
}

TargetBox TrackedTarget::corrected (const TargetBox &found, const ExpectedBox &at) const
{
  if (!was_detected () || is_lost ())
    return found;
  const auto &[expected, spread] = at;
  const double gain = squared (spread) / (squared (spread) + squared (kSpreadOfDetection)),
               size_gain = gain * kSizeGain;
  const auto between = [] (double a, double b, double share) { return a + share * (b - a); };
  const double width = between (expected.width, found.width, size_gain),
               height = between (expected.height, found.height, size_gain);
  return { between (expected.x + expected.width / 2, found.x + found.width / 2, gain) - width / 2,
           between (expected.y + expected.height / 2, found.y + found.height / 2, gain)
               - height / 2,
           width, height };
}

ExpectedMotion TrackedTarget::expected_motion () const
{
  if (!motion.has_velocity () || is_lost ())
    return {};
  const TargetBox now = target->box (), next = coasts () ? motion.expected_by_detections (kept_box)
                                                         : motion.expected (now);
  return { next.x - now.x, next.y - now.y, kMotionSpread };
}

}  // namespace integralhist
