// SPDX-License-Identifier: LGPL-2.1-or-later
#include "track_options.hpp"

namespace integralhist {

PropertyTable<TrackOptions> track_properties ()
{
  PropertyTable<TrackOptions> table;
  table.number<guint> ("max-misses", FIELD (list.max_misses), 0, G_MAXUINT, kPlaying,
                       "Runs of the detector in a row without the target after which it is lost; "
                       "0 = never; see docs/tracking.md");
  table.flag ("merge-classes", FIELD (list.merge_classes), kPlaying,
              "Ignore classes when detections are paired and merged; false = another class starts "
              "another target");
  table.flag ("reidentify", FIELD (list.reidentify), kPlaying,
              "A new target that looks like a lost one gets its id after five views; former-id has "
              "its own");
  table.number<guint> ("lost-after", FIELD (lost_after), 0, 1000, kPlaying,
                       "Bad frames in a row after which a target is lost; 0 = never; "
                       "docs/tracking.md says what a bad frame is");
  table.number<guint> ("forget-after", FIELD (list.forget_after), 0, G_MAXUINT, kPlaying,
                       "Frames after which a lost target is given up, unless it is one of targets; "
                       "0 = never; if it was detected, see remember");
  table.number<double> (
      "remember", FIELD (list.remember), 0, 86400, kPlaying,
      "Seconds for which a lost target that was detected keeps its id, in case it comes back");
  return table;
}

}  // namespace integralhist
