// SPDX-License-Identifier: LGPL-2.1-or-later
#include "track_options.hpp"

namespace integralhist {

PropertyTable<TrackOptions> track_properties ()
{
  PropertyTable<TrackOptions> table;
  table.number<guint> ("max-misses", FIELD (list.max_misses), 0, G_MAXUINT, kPlaying,
                       "A target that was detected is lost once so many frames in a row had "
                       "detections, but not of it; if no frame has any for more than three usual "
                       "intervals, each interval counts; 0 for never: then looks decide");
  table.flag (
      "merge-classes", FIELD (list.merge_classes), kPlaying,
      "Pair detections with targets of any class, and merge boxes of different classes on one "
      "spot, for a detector that changes the class of an object between frames. If false, a "
      "detection of another class starts another target");
  table.number<guint> (
      "lost-after", FIELD (lost_after), 0, 1000, kPlaying,
      "After how many bad frames in a row a target is lost; 0: none are too many. A frame "
      "is bad with a confidence below 0.12, and after the target has suddenly disappeared; "
      "with method=fragments with a confidence below min-confidence");
  table.number<guint> ("forget-after", FIELD (list.forget_after), 0, G_MAXUINT, kPlaying,
                       "After how many frames a lost target is given up, unless it is one of the "
                       "property targets; 0 for never. Behind a detector, remember counts");
  table.number<double> ("remember", FIELD (list.remember), 0, 86400, kPlaying,
                        "For how many seconds a detector's target that is lost keeps its id: one "
                        "that comes back until then goes on with it");
  return table;
}

}  // namespace integralhist
