// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Non-maximum suppression: of the detections on one spot, keeps the one with the highest
// confidence, or as many as there are targets on the spot.
#pragma once

#include <functional>
#include <vector>

#include <gst/track/base/target_frame.hpp>

#include "detection_matching.hpp"

namespace integralhist {

/// Returns the detector's confidence, 0 to 1; 0 if the confidence in the meta is not a number.
double detector_confidence (const Detection &detection);

/// Returns the detections to use, at most `most`, by falling confidence, without appearances and
/// with boxes in pixels of the tensor. `n_targets` returns the number of targets on the spot of a
/// box. If `merge_classes` is true, detections match any class.
std::vector<Measurement>
select_detections (const std::vector<Detection> &detections, bool merge_classes, std::size_t most,
                   const TargetFrame &frame,
                   const std::function<std::ptrdiff_t (const TargetBox &)> &n_targets);

}  // namespace integralhist
