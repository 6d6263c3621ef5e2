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

/// The type of those regions of interest and object detections that are tracks. The parameter of
/// these regions has the same name.
inline constexpr char kTrackType[] = "track";

struct Track {
  guint id = 0;
  gint parent = -1;            // id of the detection that started the track, or -1
  GstVideoRectangle box = {};  // where the target is, or was last
  double confidence = 0;
  bool is_lost = false;
  std::string kind;  // of the last detection, such as "person"; empty if there was none
  std::optional<double> detection_confidence;
};

/// Returns whether the class name of a track can be sent: it must be text of at most 1024 bytes.
bool is_class (const std::string &kind);

/// Attaches tracks to a buffer: a meta with all tracks, and a region of interest for each that is
/// not lost. The parameter of a region has the track's confidence and the values of the detection.
GstIntegralHistogramTracksMeta *add_tracks (GstBuffer *buffer, int width, int height,
                                            std::vector<Track> tracks);

}  // namespace integralhist
