// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Boxes in buffers: regions of interest, and GstAnalytics detections and tracks (GStreamer 1.24).
#pragma once

#include <vector>

#include <gst/track/base/detection.hpp>

namespace integralhist {

/// Returns all boxes of a frame except those of tracks.
std::vector<Detection> read_detections (GstBuffer *buffer);

/// Writes tracks as mtds of GstAnalytics. Each track is an object detection mtd of type "track" at
/// its present or last place. It is related to a tracking mtd, and to a classification mtd with the
/// track's class. This frame's detection of the target is also related to the tracking mtd.
/// `detections` are those of the frame.
void write_analytics (GstBuffer *buffer, const std::vector<TrackedBox> &tracks,
                      const std::vector<Detection> &detections);

}  // namespace integralhist
