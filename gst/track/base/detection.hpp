// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The detections that a tracker reads, and the tracks that it gives.
#pragma once

#include <cmath>
#include <optional>
#include <string>

#include <gst/integralhist/base/error.hpp>
#include <gst/integralhist/meta/tracks.hpp>

namespace integralhist {

/// A box that a detector has found upstream of the tracker.
struct Detection {
  gint id;  // the id of the detection's meta
  GstVideoRectangle box;
  std::string class_name;  // such as "person"; may be empty
  std::optional<double> confidence;
  std::string bad_confidence = {};   // text of a confidence that is not a number
  std::optional<guint> mtd_id = {};  // the id of an object detection of GstAnalytics
};

/// Sets a detection's confidence to that of a detector, or `bad_confidence` if it is not finite.
inline void set_confidence (Detection &detection, gfloat confidence, const char *type = "gfloat")
{
  if (std::isfinite (confidence))
    detection.confidence = confidence;
  else
    detection.bad_confidence = joined ("(", type, ") ", confidence);
}

/// A track, and facts about its target. Serials count all targets, also unconfirmed ones.
struct TrackedBox {
  Track track;
  guint64 serial;
  guint age;  // frames since the target started
  GstClockTime first_seen, last_seen;
  std::optional<std::size_t> detection = {};  // index of this frame's detection of the target
};

}  // namespace integralhist
