// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tracks the targets of one stream. The caller provides the tensors, the detections and the options
// of each frame, from a pipeline's buffers or from another source.
#pragma once

#include <span>
#include <vector>

#include <gst/track/correlation/correlation_target.hpp>
#include <gst/track/fragments/fragments_settings.hpp>

#include "target_list.hpp"

namespace integralhist {

/// A point of a frame.
struct Point {
  double x, y;
};

/// The input of a frame's step in addition to pixels.
struct StepInput {
  ListOptions options = {};
  std::vector<Detection> detections = {};
  std::vector<Point> clicked = {};            // drops the targets at these points
  std::vector<GstVideoRectangle> drawn = {};  // starts targets
};

class StreamTracker {
public:
  /// `logged_as` is the object that log lines name.
  StreamTracker (gpointer logged_as, TargetList::Warn warn)
      : correlation_ (logged_as), targets_ (logged_as, std::move (warn))
  {
  }

  /// Waits for the tensors of the next frame, and follows the targets in it with the correlation
  /// tracker. A target is lost after `lost_after` bad frames in a row; 0 for never.
  Expected<> follow (const TargetFrame &frame, const FrameTensors &tensors, unsigned lost_after,
                     const StepInput &input);
  /// Follows the targets in the next frame with the fragments tracker.
  Expected<> follow (const TargetFrame &frame, const FragmentsSettings &settings,
                     unsigned lost_after, const StepInput &input);
  /// Returns the targets as they are after the last follow () (target_list.hpp).
  std::vector<TrackedBox> tracks (const TargetFrame &frame, bool confirmed = true) const
  {
    return targets_.tracks (frame, confirmed);
  }

  /// Drops all targets; the next step starts the configured ones.
  void clear () { targets_.clear (); }
  /// Forgets everything, as before the first frame.
  void reset ()
  {
    targets_.reset ();
    correlation_.reset ();
  }

private:
  template <typename T, typename Follow>
  Expected<> step (const TargetFrame &frame, std::span<GstIntegralHistogram *const> tensors,
                   GstIntegralHistogram *colours, const StepInput &input, const Follow &follow);

  CorrelationMethod correlation_;
  TargetList targets_;
};

}  // namespace integralhist
