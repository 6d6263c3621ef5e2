// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Assigns detections to targets. The score of a pair is the logarithm of a ratio: how likely the
// detection is if it belongs to the target, compared with how likely it is otherwise. The score is
// the sum of terms for place, size and appearance, whose distributions were fitted to labelled
// detections (docs/tracking.md). Only pairs with a score above 0 are made, and so that the sum of
// all scores is largest.
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
struct ExpectedPlace {
  TargetBox box;
  double spread;
};

/// The expected places and appearance of a target in this frame.
struct Prediction {
  std::vector<ExpectedPlace> places;  // by different estimates
  Appearance appearance;              // a result of distinct ()
  unsigned views;                     // whose mean `appearance` is
  unsigned runs;                      // since the last detection, the present run included
  double seconds;                     // since the last detection
  bool is_confirmed;                  // it surely exists
  std::string kind;                   // class of its last detection; may be empty
};

/// A detection in the form that is compared with targets. An empty `kind` matches any class.
struct Measurement {
  TargetBox box;
  Appearance appearance;  // a distinct appearance
  std::string kind;
  bool is_sure;  // it may start a target
  const Detection *detection = nullptr;
};

/// Returns the index of each target's detection, or -1. The frame has `pixels` pixels.
std::vector<int> match_detections (std::span<const Prediction> targets,
                                   std::span<const Measurement> detections, double pixels);

/// Returns whether detections of these kinds may belong to one target. An empty kind fits any kind.
bool are_of_one_kind (const std::string &a, const std::string &b);

}  // namespace integralhist
