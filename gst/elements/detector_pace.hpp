// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which frames a detector upstream has looked at. One that looks at every n-th frame does not say
// so, and where it finds nothing the frame is as one that it left out. So a frame without
// detections counts where one is overdue by the usual gap between frames that have some. After many
// such gaps there is no detector any more.
#pragma once

#include <deque>

namespace integralhist {

class DetectorPace {
public:
  /// Notes the next frame; returns whether the detector has looked at it, as far as can be told.
  bool note (bool has_detections);
  /// Returns whether there is a detector that goes on looking.
  bool is_known () const { return usual_ > 0; }

private:
  std::deque<unsigned> gaps_;
  unsigned usual_ = 0;                              // gap, in frames; 0 while it is not known
  unsigned since_detections_ = 0, since_look_ = 0;  // frames
  bool has_begun_ = false;
};

}  // namespace integralhist
