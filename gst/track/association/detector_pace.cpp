// SPDX-License-Identifier: LGPL-2.1-or-later
#include "detector_pace.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace integralhist {

static constexpr std::size_t kMinGaps = 3, kMaxGaps = 9;
// Limits of the time without detections, in usual gaps between detections. Up to kMaxSlowdown the
// detector may only have become slower. Beyond kMaxSilence the detector is considered gone.
static constexpr unsigned kMaxSlowdown = 3, kMaxSilence = 20;

/// Updates the usual gap, a median of the last gaps between detections. Two longer gaps in a row
/// raise it at once; a single one does not, because the detector may have found nothing in a frame.
void DetectorPace::learn (unsigned gap)
{
  gaps_.push_back (gap);
  if (gaps_.size () > kMaxGaps)
    gaps_.pop_front ();
  if (gaps_.size () < kMinGaps)
    return;
  std::vector<unsigned> sorted (gaps_.begin (), gaps_.end ());
  std::ranges::sort (sorted);
  usual_ = std::max (sorted[(sorted.size () - 1) / 2], std::min (gap, gaps_.end ()[-2]));
}

unsigned DetectorPace::note (bool has_detections)
{
  silence_++;
  if (has_detections) {
    if (std::exchange (has_begun_, true))
      learn (silence_);
    silence_ = runs_ = 0;
    return 1;
  }
  if (usual_ > 0 && silence_ > kMaxSilence * usual_)
    *this = {};
  // a run of the detector is overdue if its detections are more than half a usual gap late
  const unsigned overdue = usual_ > 0 ? (silence_ - std::min (silence_, usual_ / 2)) / usual_ : 0;
  return overdue < kMaxSlowdown ? 0 : overdue - std::exchange (runs_, overdue);
}

}  // namespace integralhist
