// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Assigns detections to targets. The score of a pair is the logarithm of a ratio: how likely the
// detection is if it belongs to the target, compared with how likely it is otherwise. The score is
// the sum of terms for place, size and appearance, whose distributions were fitted to labelled
// detections (docs/tracking.md). Pairs are made so that the sum of their scores is largest, and
// only pairs with a score above 0.
//
// Detections with much confidence are assigned first. Then a detection with little confidence may
// continue a target that has no detection yet, if their boxes overlap (ByteTrack: Y. Zhang et al.,
// "ByteTrack: Multi-object tracking by associating every detection box", ECCV 2022).
#pragma once

#include <span>
#include <string>
#include <vector>

#include <gst/track/base/detection.hpp>
#include <gst/track/base/target_box.hpp>

#include "appearance.hpp"

namespace integralhist {

/// An expected box of a target, and the standard deviation of its place, in heights of the box.
struct ExpectedBox {
  TargetBox box;
  double spread;
};

/// The knowledge about a target before this frame's detections. `runs` of the detector, with the
/// present one, and `seconds` count from the target's last detection.
struct Prediction {
  std::vector<ExpectedBox> boxes;  // by different estimates
  Appearance appearance;           // a result of subtract_common ()
  unsigned views;                  // whose mean `appearance` is
  unsigned runs;
  double seconds;
  bool is_confirmed;
  std::string class_name;  // of the last detection
};

/// A detection, prepared to be compared with targets. An empty class name matches any class. A sure
/// detection has enough confidence to start a target.
struct PreparedDetection {
  TargetBox box;
  Appearance appearance;  // a result of subtract_common ()
  std::string class_name;
  bool is_sure;
  const Detection *detection = nullptr;
};

/// Returns for each target the index of the detection that belongs to it, or -1. `pixels` is the
/// size of the frame: it tells how likely a detection lies at a place by chance.
std::vector<int> match_detections (std::span<const Prediction> targets,
                                   std::span<const PreparedDetection> detections, double pixels);

/// Returns whether one target may have both class names. An empty name matches any class.
bool classes_match (const std::string &a, const std::string &b);

}  // namespace integralhist
