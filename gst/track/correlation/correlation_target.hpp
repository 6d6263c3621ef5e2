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

/// The element that attaches all metas of CorrelationMetas.
inline constexpr char kCorrelationProducer[] = "cudatrackfeatures";

/// The metas of a frame that the tracker reads; null if one is missing, or has other settings.
struct CorrelationMetas {
  GstIntegralHistogramMeta *gradients, *colours, *luma;
  bool has_other;                        // there are gradients or luma with other settings
  GstIntegralHistogramMeta *range_meta;  // only a range of the bins that are missing, or null

  static CorrelationMetas of (GstBuffer *buffer);
  bool are_complete () const { return gradients && colours && luma; }
  /// Returns a text for users that names the missing metas.
  std::string missing () const;
  FrameTensors tensors () const;
};

class CorrelationTarget final : public Target {
public:
  explicit CorrelationTarget (const TargetBox &box) : box_ (box) {}

  /// Continues from this box in the next frame. If the box overlaps the last one, half of the
  /// learned state is kept.
  void restart (const TargetBox &box) override;
  /// Returns the region of the frame that follow () will read. For a lost target, follow () also
  /// reads the colours of the whole frame; the region does not include that.
  inthist::Region region (const FrameTensors &frame, const ExpectedMotion &motion) const;
  void resize (double x_factor, double y_factor) override;
  /// Begins to look for the target in the next frame; a new target starts in that frame. Returns
  /// the tracker that finishes the step (tracker.hpp), or null if there is nothing to do.
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

  /// Looks for targets in the tensors of a frame, which must be computed; new targets start in this
  /// frame. A target is lost after `lost_after` bad frames in a row; 0 for never.
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
  bool device_failed_ = false;            // it is not used until reset ()
};

}  // namespace integralhist
