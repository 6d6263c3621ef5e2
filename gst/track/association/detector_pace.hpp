// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Estimates how often a detector upstream has run. A detector that runs on every n-th frame does
// not say so, and a frame in which it finds nothing looks like a frame that it leaves out. The pace
// is the usual gap between frames with detections. If there are no detections for up to three usual
// gaps, the detector may only have become slower, such as on a busy processor. A longer time counts
// as one run for each usual gap. After twenty usual gaps the detector is considered gone.
#pragma once

#include <deque>

namespace integralhist {

class DetectorPace {
public:
  /// Notes whether the next frame has detections. Returns the estimated number of runs of the
  /// detector, up to this frame, that earlier calls have not counted.
  unsigned note (bool has_detections);
  /// Returns whether a detector is running: its usual gap is known.
  bool is_known () const { return usual_ > 0; }

private:
  void learn (unsigned gap);

  std::deque<unsigned> gaps_;
  unsigned usual_ = 0;    // usual frames between detections; 0 if unknown
  unsigned silence_ = 0;  // frames since there were detections
  unsigned runs_ = 0;     // counted in these frames
  bool has_begun_ = false;
};

}  // namespace integralhist
