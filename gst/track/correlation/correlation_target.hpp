// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A target of integralhisttrack that the correlation tracker follows, and what of a frame that
// wants.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include <gst/integralhist/api/histogram_spec.hpp>
#include <gst/integralhist/gstintegralhistogrammeta.h>
#include <gst/track/base/target.hpp>

#include "tracker.hpp"

namespace integralhist {

/// The element that gives all that is wanted.
inline constexpr char kCorrelationProducer[] = "cudatrackfeatures";

/// What a frame carries of it; null where something is missing, or has other settings.
struct CorrelationMetas {
  GstIntegralHistogramMeta *gradients, *colours, *luma;
  bool has_other;                        // of gradients or luma, with other settings
  GstIntegralHistogramMeta *range_meta;  // a range of the bins of what is missing, or null

  static CorrelationMetas of (GstBuffer *buffer);
  bool are_complete () const { return gradients && colours && luma; }
  /// Returns what is missing, for users.
  std::string missing () const;
  FrameTensors tensors () const;
};

class CorrelationTarget final : public Target {
public:
  explicit CorrelationTarget (const TargetBox &box) : box_ (box) {}

  /// Goes on from this box in the next frame. Of the models half is kept, unless it is elsewhere.
  void restart (const TargetBox &box) override;
  /// Returns what of the frame follow () will ask for; the colours of a lost target everywhere.
  inthist::Region region (const FrameTensors &frame, const ExpectedMotion &motion) const;
  void resize (double x_factor, double y_factor) override;
  /// Begins to look for the target in the next frame; a new one starts there. Returns what finishes
  /// that (tracker.hpp), or null where there is nothing to do.
  Expected<CorrelationTracker *> follow (const FrameTensors &frame, unsigned lost_after,
                                         const ExpectedMotion &motion = {});
  /// Goes on where that has failed by a fault of a GPU.
  void give_up_device ()
  {
    if (tracker_)
      tracker_->give_up_device ();
  }
  /// Sets the box to the place that the tracker has found, once that is finished.
  void update_box ();

  const TargetBox &box () const override { return box_; }
  bool is_lost () const override { return tracker_ && !is_corrected_ && tracker_->is_lost (); }
  double confidence () const override { return tracker_ ? tracker_->confidence () : 1; }

private:
  TargetBox box_;
  std::pair<HistogramSpec, unsigned> colours_;  // of the last frame, and their bins
  std::optional<CorrelationTracker> tracker_;
  bool is_corrected_ = false;  // it goes on from the box
};

/// Follows targets, with models on a GPU if it can.
class CorrelationMethod {
public:
  /// `logged_as` is the object that log lines name.
  explicit CorrelationMethod (gpointer logged_as) : logged_as_ (logged_as) {}

  /// Looks for targets in the tensors of a frame, which are computed; new ones start there. A
  /// target is lost after so many bad frames in a row; 0 for never.
  Expected<> follow (FrameTensors tensors, unsigned lost_after,
                     std::span<const Step<CorrelationTarget>> steps);
  /// Frees what it has on a GPU, and forgets that one has failed.
  void reset ()
  {
    models_ = nullptr;
    device_failed_ = false;
  }

private:
  Expected<bool> prepare (FrameTensors &tensors, std::span<const inthist::Region> regions,
                          bool some_are_lost);

  const gpointer logged_as_;
  std::shared_ptr<DeviceModels> models_;  // of the GPU that had the last images
  bool device_failed_ = false;            // it has no models any more
};

}  // namespace integralhist
