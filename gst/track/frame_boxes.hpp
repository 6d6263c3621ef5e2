// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Boxes in buffers: regions of interest, and GstAnalytics detections and tracks (GStreamer 1.24).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <gst/integralhist/meta/tracks.hpp>

namespace integralhist {

/// A box found upstream.
struct Detection {
  gint id;  // of its meta
  GstVideoRectangle box;
  std::string kind;  // what was detected, as "person"; may be empty
  std::optional<double> confidence;
  std::string bad_confidence = {};  // what stands in its place and is no number
  std::optional<guint> mtd = {};    // its id where it is an object detection of GstAnalytics
};

/// Returns all boxes of a frame but those of tracks.
std::vector<Detection> read_detections (GstBuffer *buffer);

/// A track, and what GstAnalytics says of it besides.
struct AnalyticsTrack {
  Track track;
  GstClockTime first_seen, last_seen;
  std::optional<guint> detection_mtd = {};  // of this frame's detection, where it is GstAnalytics'
};

/// Writes tracks for GstAnalytics: each is an object detection of type "track", where it is or was
/// last, with a tracking mtd that it relates to, as this frame's detection of it does; and a
/// classification mtd of its class.
void write_analytics (GstBuffer *buffer, const std::vector<AnalyticsTrack> &tracks);

}  // namespace integralhist
