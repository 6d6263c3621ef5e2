// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Non-maximum suppression: of several detections that overlap strongly, keeps the one with the
// highest confidence, or as many as there are known targets at this place.
#pragma once

#include <functional>
#include <vector>

#include <gst/track/base/target_frame.hpp>

#include "detection_matching.hpp"

namespace integralhist {

/// The least confidence of a detection that may start a target.
inline constexpr double kStartConfidence = 0.6;

/// Returns the confidence of a detection, 0 to 1. A detection without a confidence counts as 0.7,
/// and one whose confidence is not a number as 0.
double detector_confidence (const Detection &detection);

/// Returns at most `most` detections, sorted by falling confidence, with boxes in pixels of the
/// tensor and without appearances. The function `n_targets` returns the number of targets at a box.
/// If `merge_classes` is true, detections match targets of any class.
std::vector<PreparedDetection>
select_detections (const std::vector<Detection> &detections, bool merge_classes, std::size_t most,
                   const TargetFrame &frame,
                   const std::function<std::ptrdiff_t (const TargetBox &)> &n_targets);

}  // namespace integralhist
