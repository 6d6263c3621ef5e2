// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tracks of targets, as the plugin passes them to a GstIntegralHistogramTracksMeta.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <gst/video/video.h>

#include <gst/integralhist/gstintegralhistogramtracksmeta.h>

namespace integralhist {

/// The type of the regions of interest and the object detections that are tracks, and the name of
/// such a region's parameter (a GstStructure).
inline constexpr char kTrackType[] = "track";

/// Calls `visit` for each region of interest of a buffer.
template <class Visit>
void each_roi (GstBuffer *buffer, Visit &&visit)
{
  gpointer state = nullptr;
  while (GstMeta *const meta = gst_buffer_iterate_meta_filtered (
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))
    visit (reinterpret_cast<GstVideoRegionOfInterestMeta *> (meta));
}

inline bool is_track (const GstVideoRegionOfInterestMeta *roi)
{
  return roi->roi_type == g_quark_from_static_string (kTrackType);
}

struct Track {
  guint id = 0;
  gint parent = -1;            // id of the detection that started the track, or -1
  GstVideoRectangle box = {};  // where the target is, or was last seen
  double confidence = 0;
  bool is_lost = false;
  std::string class_name;  // of the last detection, such as "person"; may be empty
  std::optional<double> detection_confidence;
  guint former_id = 0;  // until the target was re-identified; 0 if it never was
};

/// Returns whether a track may have this class name: it must be UTF-8 of at most 1024 bytes.
bool is_class_name (const std::string &class_name);

/// Attaches tracks to a buffer: a meta with all tracks, and a region of interest for each track
/// that is not lost. A region's parameter has the confidence of the track and of its detection.
GstIntegralHistogramTracksMeta *add_tracks (GstBuffer *buffer, int width, int height,
                                            std::vector<Track> tracks);

}  // namespace integralhist
