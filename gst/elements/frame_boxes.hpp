// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Boxes that frames carry: regions of interest, and where GStreamer has them (1.24) the detections
// and tracks of GstAnalytics.
#pragma once

#include <vector>

#include <gst/video/video.h>

namespace integralhist {

/// What somebody upstream has found.
struct Detection {
  gint id;  // its meta's
  GstVideoRectangle box;
};

/// All of a frame but what `write_track` writes.
std::vector<Detection> read_detections (GstBuffer *buffer);

struct Track {
  guint id;
  gint parent;  // the id of the detection that it was started from, or -1
  GstVideoRectangle box;
  double confidence;
  bool lost;
  GstClockTime first_seen, last_seen;
};

/// A region of interest of the type "track", with a parameter "track" that has the confidence; none
/// for a track that is lost. A tracking mtd of GstAnalytics says so, and where it was last.
void write_track (GstBuffer *buffer, const Track &track);

}  // namespace integralhist
