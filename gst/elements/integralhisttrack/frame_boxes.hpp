// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Boxes in buffers: regions of interest, and GstAnalytics detections and tracks (GStreamer 1.24).
#pragma once

#include <vector>

#include <gst/track/base/detection.hpp>

namespace integralhist {

/// Returns all boxes of a frame but those of tracks.
std::vector<Detection> read_detections (GstBuffer *buffer);

/// Writes tracks for GstAnalytics: each is an object detection of type "track", where it is or was
/// last, with a tracking mtd that it relates to, as this frame's detection of it does; and a
/// classification mtd of its class. `detections` are those of the frame.
void write_analytics (GstBuffer *buffer, const std::vector<TrackedBox> &tracks,
                      const std::vector<Detection> &detections);

}  // namespace integralhist
