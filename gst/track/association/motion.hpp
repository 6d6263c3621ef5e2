// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Predicts where a box moves: at a constant velocity, which slows down while the box is not seen.
// Its unit is sides of the box per frame, so that it does not depend on the size of the tensor.
#pragma once

#include <optional>

#include <gst/track/base/target_box.hpp>

namespace integralhist {

class Motion {
public:
  /// Notes the place of the box in the next frame: the place where the method found it, or the more
  /// reliable place of a detection.
  void follow (const TargetBox &box);
  void detect (const TargetBox &box);
  /// Notes a frame in which the box is not seen.
  void miss ();
  /// Converts the boxes to a tensor that is larger by these factors.
  void resize (double x_factor, double y_factor);

  /// Returns where a box that was last seen at this place is expected in the next frame.
  TargetBox expected (const TargetBox &last) const;
  /// Like expected (), but predicts from the detections only, if there were any.
  TargetBox expected_by_detections (const TargetBox &last) const;
  /// Returns whether the velocity is known from detections.
  bool has_velocity () const { return has_velocity_; }
  /// Returns the number of frames since the box was last seen, and since it was last detected.
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

}  // namespace integralhist
