// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tracks, as the plugin gives them to their meta.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <gst/video/video.h>

#include <gst/integralhist/gstintegralhistogramtracksmeta.h>

namespace integralhist {

struct Track {
  guint id = 0;
  gint parent = -1;            // id of the detection that started it, or -1
  GstVideoRectangle box = {};  // where it is, or was last
  double confidence = 0;
  bool is_lost = false;
  std::string kind;  // of the last detection, as "person"; empty where there was none
  std::optional<double> detection_confidence;
};

/// Returns whether a name of a class can be sent: text of 1024 bytes at most.
bool is_class (const std::string &kind);

/// Attaches tracks, as a meta and, unless they are lost, as regions of interest of type "track"
/// with the confidence and what the detection said in a parameter "track".
GstIntegralHistogramTracksMeta *add_tracks (GstBuffer *buffer, int width, int height,
                                            std::vector<Track> tracks);

}  // namespace integralhist
