// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Detections and tracks in buffers: regions of interest, and GstAnalytics (GStreamer 1.24).
#pragma once

#include <vector>

#include <gst/track/base/detection.hpp>

namespace integralhist {

/// Returns all boxes in the metas of a frame, except those of tracks.
std::vector<Detection> read_detections (GstBuffer *buffer);

/// Appends the DeepStream detections of a buffer whose batch has one frame. The class of a
/// detection is given as a number, because the place of the name differs between releases.
void read_deepstream_detections (GstBuffer *buffer, std::vector<Detection> &detections);

/// Writes tracks as entries (mtds) of GstAnalytics. Each track is an object detection of type
/// "track" at its present or last place, related to a tracking mtd and to a classification with the
/// track's class. The frame's detection of the target is also related to the tracking mtd.
void write_analytics (GstBuffer *buffer, const std::vector<TrackedBox> &tracks,
                      const std::vector<Detection> &detections);

}  // namespace integralhist
