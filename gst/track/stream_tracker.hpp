// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tracks the targets of one stream. The caller provides the tensors, the detections and the options
// of each frame, from a pipeline's buffers or from another source.
#pragma once

#include <span>
#include <vector>

#include <gst/frame/point.hpp>
#include <gst/track/correlation/correlation_target.hpp>
#include <gst/track/fragments/fragments_settings.hpp>

#include "target_list.hpp"

namespace integralhist {

/// The input of a tracker for a frame, in addition to tensors. Clicks drop targets; drawn boxes
/// start some.
struct TrackerInput {
  ListOptions options = {};
  std::vector<Detection> detections = {};
  std::vector<Point> clicked = {};
  std::vector<GstVideoRectangle> drawn = {};
};

class StreamTracker {
public:
  /// `logged_as` is the object, such as the element, that lines of the debug log name.
  StreamTracker (gpointer logged_as, TrackWarnings::Warn warn)
      : correlation_ (logged_as), targets_ (logged_as, std::move (warn))
  {
  }

  /// Wait for the tensors of the next frame, and follow the targets in it, by correlation filters
  /// or by fragments. A target is lost after `lost_after` bad frames in a row; 0 for never.
  Expected<> track (const TargetFrame &frame, const FrameTensors &tensors, unsigned lost_after,
                    const TrackerInput &input);
  Expected<> track (const TargetFrame &frame, const FragmentsSettings &settings,
                    unsigned lost_after, const TrackerInput &input);
  /// Returns the tracks after the last track (): those of confirmed targets, or of all others.
  std::vector<TrackedBox> tracks (const TargetFrame &frame, bool confirmed = true) const
  {
    return targets_.tracks (frame, confirmed);
  }

  /// Drops all targets. In the next frame, targets start from the configured boxes again.
  void clear () { targets_.clear (); }
  /// Drops all targets, frees memory on a GPU, and numbers new targets from 1 again.
  void reset ()
  {
    targets_.reset ();
    correlation_.reset ();
  }

private:
  template <typename T, typename Search>
  Expected<> track_by (const TargetFrame &frame, std::span<GstIntegralHistogram *const> tensors,
                       GstIntegralHistogram *colours, const TrackerInput &input,
                       const Search &search);

  CorrelationMethod correlation_;
  TargetList targets_;
};

}  // namespace integralhist
