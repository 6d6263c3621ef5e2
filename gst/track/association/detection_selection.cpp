// SPDX-License-Identifier: LGPL-2.1-or-later
#include "detection_selection.hpp"

#include <algorithm>

namespace integralhist {

// Confidences of detections, 0 to 1: the least that is used at all, and the one that is assumed if
// the detector gives none.
static constexpr double kMinConfidence = 0.1, kUnknownConfidence = 0.7;
// Two detections show one object if they overlap (intersection over union) by more than kNmsIou, or
// kNmsIouOfClasses if their classes differ.
static constexpr double kNmsIou = 0.6, kNmsIouOfClasses = 0.8;

double detector_confidence (const Detection &detection)
{
  return detection.bad_confidence.empty () ? detection.confidence.value_or (kUnknownConfidence) : 0;
}

std::vector<PreparedDetection>
select_detections (const std::vector<Detection> &detections, bool merge_classes, std::size_t most,
                   const TargetFrame &frame,
                   const std::function<std::ptrdiff_t (const TargetBox &)> &n_targets)
{
  std::vector<const Detection *> order;
  for (const Detection &detection : detections)
    order.push_back (&detection);
  std::ranges::stable_sort (order, std::ranges::greater{}, [] (const Detection *detection) {
    return detector_confidence (*detection);
  });
  std::vector<PreparedDetection> selected;
  for (const Detection *const detection : order) {
    const double confidence = detector_confidence (*detection);
    if (selected.size () == most || confidence < kMinConfidence)
      break;  // the rest are less sure
    const GstVideoRectangle part = frame.clip (detection->box);
    const TargetBox box = frame.in_tensor (part);
    const std::string class_name = merge_classes ? "" : detection->class_name;
    const auto n_there = std::ranges::count_if (selected, [&] (const PreparedDetection &other) {
      return iou (box, other.box)
             > (classes_match (class_name, other.class_name) ? kNmsIou : kNmsIouOfClasses);
    });
    if (part.w > 0 && (n_there == 0 || n_there < n_targets (box)))
      selected.push_back ({ box, {}, class_name, confidence >= kStartConfidence, detection });
  }
  return selected;
}

}  // namespace integralhist
