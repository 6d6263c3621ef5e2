// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A target of integralhisttrack that the correlation tracker follows, and the metas of a frame that
// the tracker needs.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include <gst/integralhist/api/histogram_spec.hpp>
#include <gst/integralhist/gstintegralhistogrammeta.h>
#include <gst/track/base/target.hpp>

#include "tracker.hpp"

namespace integralhist {

/// The element that attaches all of these metas.
inline constexpr char kCorrelationProducer[] = "cudatrackfeatures";

/// The metas of a frame; null if one is missing, or has other settings.
struct CorrelationMetas {
  GstIntegralHistogramMeta *gradients, *colours, *luma;
  bool has_other;                        // of gradients or luma, with other settings
  GstIntegralHistogramMeta *range_meta;  // a range of the bins of what is missing, or null

  static CorrelationMetas of (GstBuffer *buffer);
  bool are_complete () const { return gradients && colours && luma; }
  /// Returns the text about missing metas, for users.
  std::string missing () const;
  FrameTensors tensors () const;
};

class CorrelationTarget final : public Target {
public:
  explicit CorrelationTarget (const TargetBox &box) : box_ (box) {}

  /// Goes on from this box in the next frame. Half of the models is kept, unless the box is
  /// elsewhere.
  void restart (const TargetBox &box) override;
  /// Returns the region of the frame that follow () will ask for; colours of a lost target:
  /// everywhere.
  inthist::Region region (const FrameTensors &frame, const ExpectedMotion &motion) const;
  void resize (double x_factor, double y_factor) override;
  /// Begins to look for the target in the next frame; a new target starts there. Returns the
  /// tracker that finishes the step (tracker.hpp), or null if there is nothing to do.
  Expected<CorrelationTracker *> follow (const FrameTensors &frame, unsigned lost_after,
                                         const ExpectedMotion &motion = {});
  /// Continues on the CPU after a GPU has failed.
  void give_up_device ()
  {
    if (tracker_)
      tracker_->give_up_device ();
  }
  /// Sets the box to the place that the tracker has found, once its step is finished.
  void update_box ();

  const TargetBox &box () const override { return box_; }
  bool is_lost () const override { return tracker_ && !is_corrected_ && tracker_->is_lost (); }
  double confidence () const override { return tracker_ ? tracker_->confidence () : 1; }

private:
  TargetBox box_;
  std::pair<HistogramSpec, unsigned> colours_;  // of the last frame, and their bins
  std::optional<CorrelationTracker> tracker_;
  bool is_corrected_ = false;  // the tracker goes on from the box
};

/// Follows targets, with models on a GPU if possible.
class CorrelationMethod {
public:
  /// `logged_as` is the object that log lines name.
  explicit CorrelationMethod (gpointer logged_as) : logged_as_ (logged_as) {}

  /// Looks for targets in the tensors of a frame, which are computed; new targets start there. A
  /// target is lost after `lost_after` bad frames in a row; 0 for never.
  Expected<> follow (FrameTensors tensors, unsigned lost_after,
                     std::span<const Step<CorrelationTarget>> steps);
  /// Frees GPU memory, and forgets that a GPU has failed.
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
  bool device_failed_ = false;            // it is not used any more
};

}  // namespace integralhist
