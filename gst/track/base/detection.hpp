// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The input of a tracker besides pixels, and its output.
#pragma once

#include <optional>
#include <string>

#include <gst/integralhist/meta/tracks.hpp>

namespace integralhist {

/// A box found upstream.
struct Detection {
  gint id;  // of its meta
  GstVideoRectangle box;
  std::string kind;  // what was detected, such as "person"; may be empty
  std::optional<double> confidence;
  std::string bad_confidence = {};   // what stands in its place and is no number
  std::optional<guint> mtd_id = {};  // its id if it is an object detection of GstAnalytics
};

/// A track, and what is known of its target besides.
struct TrackedBox {
  Track track;
  guint64 serial;  // of the target, also before it is confirmed; no other target ever has it
  guint age;       // frames since the target started
  GstClockTime first_seen, last_seen;
  std::optional<std::size_t> detection = {};  // the index of the target's detection in this frame
};

/// A warning for users. A tracker gives each kind once.
struct TrackWarning {
  enum class Kind { bad_confidence, empty_target } kind;
  std::string message, detail;
};

}  // namespace integralhist
