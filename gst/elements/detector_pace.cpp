// SPDX-License-Identifier: LGPL-2.1-or-later
#include "detector_pace.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace integralhist {

static constexpr std::size_t kLeastGaps = 3, kMostGaps = 9;
static constexpr unsigned kSilence = 20;  // usual gaps, after which there is no detector any more

bool DetectorPace::note (bool has_detections)
{
  since_detections_++;
  since_look_++;
  if (has_detections) {
    if (has_begun_)
      gaps_.push_back (since_detections_);
    has_begun_ = true;
    if (gaps_.size () > kMostGaps)
      gaps_.pop_front ();
    if (gaps_.size () >= kLeastGaps) {
      std::vector<unsigned> sorted (gaps_.begin (), gaps_.end ());
      std::ranges::sort (sorted);
      usual_ = sorted[(sorted.size () - 1) / 2];
    }
    since_detections_ = since_look_ = 0;
    return true;
  }
  if (usual_ > 0 && since_detections_ > kSilence * usual_)
    *this = {};
  // half a gap late is not overdue
  if (usual_ == 0 || since_look_ < usual_ + usual_ / 2)
    return false;
  since_look_ = usual_ / 2;
  return true;
}

}  // namespace integralhist
