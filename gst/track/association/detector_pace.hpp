// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How often a detector upstream has looked. One that looks at every n-th frame does not say so, and
// where it finds nothing the frame is as one that it left out. Its pace is the usual gap between
// frames with detections. A silence of up to three usual gaps may be a detector that has become
// slower, as one on a busy processor does: it counts only once it is longer, then for as many looks
// as gaps. After many gaps there is no detector any more.
#pragma once

#include <deque>

namespace integralhist {

class DetectorPace {
public:
  /// Notes the next frame; returns how often the detector has looked up to it that was not known
  /// before, as far as can be told.
  unsigned note (bool has_detections);
  /// Returns whether there is a detector that goes on looking.
  bool is_known () const { return usual_ > 0; }

private:
  void learn (unsigned gap);

  std::deque<unsigned> gaps_;
  unsigned usual_ = 0;    // gap, in frames; 0 while it is not known
  unsigned silence_ = 0;  // frames since there were detections
  unsigned looks_ = 0;    // that it has counted for
  bool has_begun_ = false;
};

}  // namespace integralhist
