// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <gst/integralhist/api/histogram.hpp>
#include <gst/integralhist/base/error.hpp>
#include <gst/track/association/camera_motion.hpp>
#include <gst/track/association/detection_selection.hpp>
#include <gst/track/association/detector_pace.hpp>
#include <gst/track/base/detection.hpp>
#include <gst/track/base/target.hpp>
#include <gst/track/base/target_frame.hpp>

#include "track_options.hpp"
#include "track_warnings.hpp"
#include "tracked_target.hpp"

namespace integralhist {

/// The targets of a tracker. The list decides which of them start, restart and end. Each frame
/// calls fit () first, and then the functions in the order in which they stand here.
class TargetList {
public:
  TargetList (gpointer logged_as, TrackWarnings::Warn warn);

  /// Adapts the targets to a tensor of another size, and to other bins of `colours`, the tensor
  /// that tells targets apart.
  void fit (GstIntegralHistogram *colours, const TargetFrame &frame);
  /// Sets the options. If the boxes of `targets` are new, their targets start, and those of the
  /// boxes before are dropped. A box outside the frame is an error.
  Expected<> configure (const ListOptions &options, const TargetFrame &frame);
  void drop_at (double x, double y, const TargetFrame &frame);
  /// Starts a target from a box, unless the box lies outside the frame.
  void start (const GstVideoRectangle &box, const TargetFrame &frame);
  /// Continues targets, also lost ones, from the detections of the next frame, and starts targets
  /// from other detections. `colours`, whose tensor must be computed, tells how a box looks.
  Expected<> detect (const std::vector<Detection> &detections, GstIntegralHistogram *colours,
                     const TargetFrame &frame);

  /// Returns the targets that the tracking method must look for in the next frame, as objects of
  /// the method's class T. Targets that another method followed before start again.
  template <typename T>
  std::vector<SoughtTarget<T>> prepare_search ()
  {
    std::vector<SoughtTarget<T>> sought;
    for (const auto &tracked : targets_)
      if (T *const target = tracked->template ensure_target<T> ())
        sought.push_back ({ target, tracked->expected_motion () });
    return sought;
  }
  /// Updates the targets after the tracking method has looked for them.
  Expected<> note_tracked (GstIntegralHistogram *colours, const TargetFrame &frame);
  /// Ends targets whose middle has left the area, and targets that have been lost for long, except
  /// configured ones. A target without detections may become a duplicate of a better visible one.
  void end (const TargetFrame &frame);

  /// Returns the tracks of confirmed targets, also lost ones, in pixels of the frame; or those of
  /// unconfirmed targets, which have no id.
  std::vector<TrackedBox> tracks (const TargetFrame &frame, bool confirmed = true) const;

  /// Drops all targets. The next configure () starts targets from its boxes again.
  void clear ();
  void reset ();

private:
  TrackedTarget *add (const GstVideoRectangle &box, const TargetFrame &frame);
  void confirm (TrackedTarget &tracked, const TargetFrame &frame);
  Appearance distinct_appearance (const Appearance &appearance) const;
  double covered_share_of (const TrackedTarget &tracked) const;

  // target_detections.cpp
  void forget_detections ();
  std::ptrdiff_t n_seen_at (const TargetBox &box) const;
  void apply_detection (TrackedTarget &tracked, const PreparedDetection &prepared,
                        const TargetFrame &frame);
  std::vector<BoxPair> box_pairs (std::span<const Prediction> targets,
                                  std::span<const PreparedDetection> detections,
                                  std::span<const int> detection_of) const;
  void note_misses (unsigned detector_runs);
  std::vector<TrackedTarget *> associate (std::span<const PreparedDetection> detections,
                                          unsigned detector_runs, const TargetFrame &frame);
  bool starts_target (const PreparedDetection &detection, const TargetFrame &frame) const;
  bool is_clear_view (const TrackedTarget &tracked) const;

  // target_presence.cpp
  bool may_coast (const TrackedTarget &tracked) const;
  Expected<> note_presence (GstIntegralHistogram *colours, const TargetFrame &frame);
  void reidentify ();

  const gpointer logged_as_;
  TrackWarnings warnings_;
  std::vector<std::unique_ptr<TrackedTarget>> targets_;
  ListOptions options_;
  std::optional<std::vector<GstVideoRectangle>> configured_;  // boxes that have started targets
  guint next_id_ = 1;
  guint64 next_serial_ = 1;  // never reset
  DetectorPace pace_;
  MeanSpeed mean_speed_;
  MeanAppearance mean_appearance_{ 2000 };  // of all detections
  bool detector_ran_ = false;               // on this frame
  int width_ = 0, height_ = 0;              // of the last tensor
  std::optional<HistogramSpec> spec_;       // what the appearances are of
};

}  // namespace integralhist
