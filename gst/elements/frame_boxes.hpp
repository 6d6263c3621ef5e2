// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Boxes in buffers: regions of interest, and GstAnalytics detections and tracks (GStreamer 1.24).
#pragma once

#include <vector>

#include <gst/video/video.h>

namespace integralhist {

/// A box found upstream.
struct Detection {
  gint id;  // of its meta
  GstVideoRectangle box;
};

/// Returns all boxes of a frame but those of write_track.
std::vector<Detection> read_detections (GstBuffer *buffer);

struct Track {
  guint id;
  gint parent;  // id of the detection that started it, or -1
  GstVideoRectangle box;
  double confidence;
  bool lost;
  GstClockTime first_seen, last_seen;
};

/// Writes a region of interest of type "track" with the confidence in a parameter "track", unless
/// the track is lost. A tracking mtd of GstAnalytics says that it is lost, and where it was last.
void write_track (GstBuffer *buffer, const Track &track);

}  // namespace integralhist
