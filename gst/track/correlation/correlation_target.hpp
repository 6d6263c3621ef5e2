// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The targets that correlation filters follow, and how all of them are followed in a frame.
#pragma once

#include <optional>
#include <utility>

#include <gst/integralhist/api/histogram.hpp>
#include <gst/track/base/target.hpp>

#include "single_target_tracker.hpp"

namespace integralhist {

class CorrelationTarget final : public Target {
public:
  explicit CorrelationTarget (const TargetBox &box) : box_ (box) {}

  /// Continues from this box in the next frame. The tracker keeps half of what it has learned if
  /// the box overlaps its last one; otherwise it may have followed another object, and starts anew.
  void restart (const TargetBox &box) override;
  inthist::Region region (const FrameTensors &frame, const ExpectedMotion &motion) const;
  void resize (double x_factor, double y_factor) override;
  /// Begins this frame of the target's tracker, and returns the tracker; null if a lost target has
  /// no model that could find it.
  Expected<SingleTargetTracker *> begin_frame (const FrameTensors &frame, unsigned lost_after,
                                               const ExpectedMotion &motion = {});
  /// Lets the target continue on the CPU after a GPU has failed.
  void give_up_device ()
  {
    if (tracker_)
      tracker_->give_up_device ();
  }
  void update_box ();

  const TargetBox &box () const override { return box_; }
  bool is_lost () const override { return tracker_ && !is_corrected_ && tracker_->is_lost (); }
  double confidence () const override { return tracker_ ? tracker_->confidence () : 1; }
  double visibility () const override { return tracker_ ? tracker_->visibility () : 1; }

private:
  TargetBox box_;
  std::pair<HistogramSpec, unsigned> colours_;  // of the last frame's colours
  std::optional<SingleTargetTracker> tracker_;
  bool is_corrected_ = false;  // a new box was given
};

/// Follows all targets by correlation filters, with their models on a GPU if possible.
class CorrelationMethod {
public:
  /// `logged_as` is the object, such as the element, that lines of the debug log name.
  explicit CorrelationMethod (gpointer logged_as) : logged_as_ (logged_as) {}

  /// Looks for targets in the tensors of a frame, which must be computed, and starts new ones in
  /// it. A target is lost after `lost_after` bad frames in a row; 0 for never.
  Expected<> track (FrameTensors tensors, unsigned lost_after,
                    SoughtTargets<CorrelationTarget> targets);
  /// Frees the models on a GPU, and lets a GPU that has failed be used again.
  void reset ()
  {
    models_ = nullptr;
    device_failed_ = false;
  }

private:
  Expected<bool> prepare (FrameTensors &tensors, SoughtTargets<CorrelationTarget> targets);

  const gpointer logged_as_;
  std::shared_ptr<DeviceModelPool> models_;  // on the last frame's GPU
  bool device_failed_ = false;               // no GPU until reset ()
};

}  // namespace integralhist
