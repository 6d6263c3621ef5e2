// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Boxes in buffers: regions of interest, and GstAnalytics detections and tracks (GStreamer 1.24).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <gst/video/video.h>

namespace integralhist {

/// A box found upstream.
struct Detection {
  gint id;  // of its meta
  GstVideoRectangle box;
  std::string kind;  // what was detected, as "person"; may be empty
  std::optional<double> confidence;
  std::optional<guint> mtd = {};  // its id where it is an object detection of GstAnalytics
};

/// Returns all boxes of a frame but those of write_tracks.
std::vector<Detection> read_detections (GstBuffer *buffer);

struct Track {
  guint id;
  gint parent;  // id of the detection that started it, or -1
  GstVideoRectangle box;
  double confidence;
  bool lost;
  GstClockTime first_seen, last_seen;
  std::string kind;  // of the last detection; empty where there was none
  std::optional<double> detection_confidence;
  std::optional<guint> detection_mtd = {};  // of this frame's detection, where it is GstAnalytics'
};

/// Adds what the last detection said, `class` and `detection-confidence`, as far as it is known.
void add_detection (GstStructure *structure, const Track &track);

/// Writes tracks. Each is a region of interest of type "track" with the confidence and what
/// add_detection says in a parameter "track", unless it is lost. In GstAnalytics it is an object
/// detection of type "track", where it is or was last, with a tracking mtd that it relates to, as
/// this frame's detection of it does; and a classification mtd of its class.
void write_tracks (GstBuffer *buffer, const std::vector<Track> &tracks);

}  // namespace integralhist
