// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Assigns detections to targets. Each pair has the logarithm of a ratio of likelihoods: of the
// detection if it belongs to the target, and if it belongs to anything else. The logarithm is the
// sum of the terms for place, size and appearance; the distributions of each were fitted to
// labelled detections (docs/tracking.md). Pairs have a sum above 0, and are chosen so that the
// total is largest.
//
// Detections with much confidence come first. Detections with little confidence continue the
// targets that are still without one, if they overlap (ByteTrack: Y. Zhang et al., "ByteTrack:
// Multi-object tracking by associating every detection box", ECCV 2022).
#pragma once

#include <span>
#include <string>
#include <vector>

#include <gst/track/base/detection.hpp>
#include <gst/track/base/target_box.hpp>

#include "appearance.hpp"

namespace integralhist {

/// An expected place of a target, and the standard deviation there, in heights of its box.
struct ExpectedPlace {
  TargetBox box;
  double spread;
};

/// The expected places and appearance of a target in this frame.
struct Prediction {
  std::vector<ExpectedPlace> places;  // by different estimates
  Appearance appearance;              // a distinct one,
  unsigned views;                     // the number of views in the mean
  unsigned runs;                      // of the detector since the last detection, with this one
  double seconds;                     // since then
  bool is_confirmed;                  // it is surely there
  std::string kind;                   // of its last detection; empty if it has none
};

/// A detection, in the form that targets are compared with. An empty `kind` matches any class.
struct Measurement {
  TargetBox box;
  Appearance appearance;  // a distinct appearance
  std::string kind;
  bool is_sure;  // it may start a target
  const Detection *detection = nullptr;
};

/// Returns the detection of each target, or -1, in a frame of `pixels` pixels.
std::vector<int> match_detections (std::span<const Prediction> targets,
                                   std::span<const Measurement> detections, double pixels);

/// Returns whether detections of these kinds may belong to one target. An empty kind fits any kind.
bool are_of_one_kind (const std::string &a, const std::string &b);

}  // namespace integralhist
