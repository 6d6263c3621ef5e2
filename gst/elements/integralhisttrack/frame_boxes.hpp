// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Boxes in buffers: regions of interest, and GstAnalytics detections and tracks (GStreamer 1.24).
#pragma once

#include <vector>

#include <gst/track/base/detection.hpp>

namespace integralhist {

/// Returns all boxes of a frame except those of tracks.
std::vector<Detection> read_detections (GstBuffer *buffer);

/// Writes tracks for GstAnalytics. Each track is an object detection of type "track" at its present
/// or last place, related to a tracking mtd, to which this frame's detection of the target also
/// relates; and a classification mtd with its class. `detections` are those of the frame.
void write_analytics (GstBuffer *buffer, const std::vector<TrackedBox> &tracks,
                      const std::vector<Detection> &detections);

}  // namespace integralhist
