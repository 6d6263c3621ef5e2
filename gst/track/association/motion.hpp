// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Predicts a target's box: at a constant velocity, which slows down while the target is not seen.
// Velocities are in sides of the box per frame, so they do not depend on the tensor's size.
#pragma once

#include <algorithm>
#include <optional>

#include <gst/track/base/target_box.hpp>

namespace integralhist {

class Motion {
public:
  /// Note the target's box in the next frame. note_tracked () takes the box that the tracking
  /// method has found, note_detected () the more reliable box of a detection.
  void note_tracked (const TargetBox &box);
  void note_detected (const TargetBox &box);
  void note_unseen ();
  void resize (double x_factor, double y_factor);

  /// Returns the box expected in the next frame, of a target that was last seen at the box `last`.
  TargetBox expected (const TargetBox &last) const;
  /// Predicts the target's next box from its last detection; without one, returns expected ().
  TargetBox expected_by_detections (const TargetBox &last) const;
  /// Returns whether two detections have given the target's velocity.
  bool has_velocity () const { return has_velocity_; }
  /// Returns the speed of the detections, in heights of the box per frame; 0 without a velocity.
  double speed () const;
  /// Return the number of frames since the target was last seen, and since it was last detected.
  unsigned unseen () const { return unseen_; }
  unsigned undetected () const { return undetected_; }

private:
  TargetBox moved (const TargetBox &box, unsigned frames) const;
  void learn (const TargetBox &from, const TargetBox &to, unsigned frames);

  std::optional<TargetBox> last_, detected_;
  double x_ = 0, y_ = 0;
  bool has_velocity_ = false;  // from detections
  unsigned unseen_ = 0, undetected_ = 0;
};

/// The mean speed of all targets' detections. It begins as if kFirstDetections had shown
/// kUsualSpeed, and forgets all but about the last kRememberedDetections. The less targets move in
/// a frame, such as with many frames a second, the better is known where a hidden target is.
class MeanSpeed {
public:
  /// Adds a speed in heights of a box per frame. A larger one than kMaxRelativeSpeed times
  /// kUsualSpeed, or one that is not a number, counts as that.
  void add (double speed)
  {
    const double relative = speed / kUsualSpeed;
    n_ = std::min (n_ + 1, kRememberedDetections);
    mean_ += ((relative < kMaxRelativeSpeed ? relative : kMaxRelativeSpeed) - mean_) / n_;
  }
  /// Returns the mean as a multiple of the usual speed, kMinRelativeSpeed to kMaxRelativeSpeed.
  double relative () const { return std::max (mean_, kMinRelativeSpeed); }

private:
  static constexpr double kUsualSpeed = 0.05;  // of people in pictures of 7 frames a second
  static constexpr double kMinRelativeSpeed = 0.2, kMaxRelativeSpeed = 4;
  static constexpr unsigned kFirstDetections = 100, kRememberedDetections = 1000;

  unsigned n_ = kFirstDetections;
  double mean_ = 1;  // in usual speeds
};

}  // namespace integralhist
