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

/// The type of regions of interest, and of object detections, that are tracks; and the name of the
/// parameter that such regions have.
inline constexpr char kTrackType[] = "track";

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

/// Attaches tracks, as a meta and, unless they are lost, as regions of interest, whose parameter
/// has the confidence and what the detection said.
GstIntegralHistogramTracksMeta *add_tracks (GstBuffer *buffer, int width, int height,
                                            std::vector<Track> tracks);

}  // namespace integralhist
