// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which detection is of which target. For each pair there is the logarithm of a ratio of
// likelihoods: that of the detection if it is the target's, to that if it is anything else's. It is
// the sum of what place, size and appearance say, of each of which the distributions were fitted to
// labelled detections (docs/tracking.md). Pairs with a sum above 0 are made so that all sums
// together are largest.
//
// Detections with much confidence come first. Those with little continue what is still without
// one, if they overlap it (ByteTrack: Y. Zhang et al., "ByteTrack: Multi-object tracking by
// associating every detection box", ECCV 2022).
#pragma once

#include <span>
#include <string>
#include <vector>

#include <gst/track/base/detection.hpp>
#include <gst/track/base/target_box.hpp>

#include "appearance.hpp"

namespace integralhist {

/// A place at which a target is expected, and the standard deviation there, in heights of its box.
struct ExpectedPlace {
  TargetBox box;
  double spread;
};

/// The expected places and appearance of a target in this frame.
struct Prediction {
  std::vector<ExpectedPlace> places;  // by one account and by another
  Appearance appearance;              // a distinct one,
  unsigned views;                     // the mean of so many
  unsigned runs;                      // of the detector since the last detection, with this one
  double seconds;                     // since then
  bool is_confirmed;                  // it is surely there
  std::string kind;                   // of its last detection; empty if it has none
};

/// A detection, as targets are compared with it. `kind` is empty if it matches any class.
struct Measurement {
  TargetBox box;
  Appearance appearance;  // a distinct one
  std::string kind;
  bool is_sure;  // it may start a target
  const Detection *detection = nullptr;
};

/// Returns the detection of each target, or -1, in a frame of so many pixels.
std::vector<int> match_detections (std::span<const Prediction> targets,
                                   std::span<const Measurement> detections, double pixels);

/// Returns whether detections of these kinds may be of one target. Any kind goes with an empty one.
bool are_of_one_kind (const std::string &a, const std::string &b);

}  // namespace integralhist
