// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The detections that a tracker reads, and the tracks and warnings that it gives.
#pragma once

#include <optional>
#include <string>

#include <gst/integralhist/meta/tracks.hpp>

namespace integralhist {

/// A box found upstream.
struct Detection {
  gint id;  // the id of the detection's meta
  GstVideoRectangle box;
  std::string kind;  // what was detected, such as "person"; may be empty
  std::optional<double> confidence;
  std::string bad_confidence = {};   // the text that stands in place of a number
  std::optional<guint> mtd_id = {};  // its id if it is an object detection of GstAnalytics
};

/// A track, and further facts about its target.
struct TrackedBox {
  Track track;
  guint64 serial;  // of the target, also before it is confirmed; never used again
  guint age;       // frames since the target started
  GstClockTime first_seen, last_seen;
  std::optional<std::size_t> detection = {};  // the index of the target's detection in this frame
};

/// A warning for users. A tracker gives each kind once; empty_target again after the configured
/// boxes have changed.
struct TrackWarning {
  enum class Kind { bad_confidence, empty_target } kind;
  std::string message, detail;
};

}  // namespace integralhist
