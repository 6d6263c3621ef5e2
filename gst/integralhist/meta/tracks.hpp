// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tracks, in the form in which the plugin passes them to their meta.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <gst/video/video.h>

#include <gst/integralhist/gstintegralhistogramtracksmeta.h>

namespace integralhist {

/// The type of regions of interest and object detections that are tracks; also the name of the
/// parameter that such regions have.
inline constexpr char kTrackType[] = "track";

struct Track {
  guint id = 0;
  gint parent = -1;            // id of the detection that started it, or -1
  GstVideoRectangle box = {};  // where it is, or was last
  double confidence = 0;
  bool is_lost = false;
  std::string kind;  // of the last detection, such as "person"; empty if there was none
  std::optional<double> detection_confidence;
};

/// Returns whether the name of a class can be sent: text of at most 1024 bytes.
bool is_class (const std::string &kind);

/// Attaches tracks as a meta and, unless they are lost, as regions of interest. The parameter of a
/// region has the confidence and the values of the detection.
GstIntegralHistogramTracksMeta *add_tracks (GstBuffer *buffer, int width, int height,
                                            std::vector<Track> tracks);

}  // namespace integralhist
