// SPDX-License-Identifier: LGPL-2.1-or-later
#include "track_properties.hpp"

#include "parse.hpp"

namespace integralhist {

static PropertyTable<TrackProperties> make_table ()
{
  PropertyTable<TrackProperties> table;
  table.text ("targets", FIELD (targets), kPlaying,
              "Boxes \"x,y,width,height;...\" in pixels of the first frame to follow from there, "
              "as far as they lie in it; one outside is an error. When it is set later, the "
              "targets that it gave before are dropped, and these start in the next frame",
              [] (const std::string &text) { return parse_regions (text, "targets"); });
  table.flag ("detections", FIELD (detections), kPlaying,
              "Follow each region of interest, and object detection of GstAnalytics, of a frame "
              "that no target covers yet");
  table.flag ("navigation", FIELD (navigation), kPlaying,
              "Follow what the mouse draws a box around in a video window; a click on a target "
              "drops it, until upstream detects it again");
  table.choice ("measure", FIELD (track.measure), GST_TYPE_INTEGRAL_HISTOGRAM_MEASURE, kPlaying,
                "How to compare a patch and its model");
  table.number<double> ("quantile", FIELD (track.quantile), 0, 1, kPlaying,
                        "Which of the patches' distances, from 0 for the least to 1 for the "
                        "largest, is that of a position; the patches above it may be hidden");
  table.number<guint> ("search-range", FIELD (track.search_range), 1, 256, kPlaying,
                       "How far a target moves at most from frame to frame, in pixels each way");
  table.number<guint> ("strips", FIELD (track.strips), 1, 32, kPlaying,
                       "How many strips of patches a box is cut into along each side, each of two "
                       "patches; for targets that start from now on");
  table.number<double> ("update-rate", FIELD (track.update_rate), 0, 1, kPlaying,
                        "How much of a patch's histogram goes into its model with each frame, for "
                        "patches that agree, and none while the target may be hidden; 0 keeps the "
                        "first frame's models, as the paper does, 0.1 follows slow changes");
  table.flag ("scale-search", FIELD (track.scale_search), kPlaying,
              "Look for the target 5 % smaller and larger, too");
  table.number<guint> ("lost-after", FIELD (track.lost_after), 0, 1000, kPlaying,
                       "After how many bad frames in a row a target is lost; 0 for never");
  table.number<guint> ("forget-after", FIELD (forget_after), 0, G_MAXUINT, kPlaying,
                       "After how many frames a lost target is given up, unless it is one of the "
                       "property targets; 0 for never");
  table.number<double> ("min-confidence", FIELD (track.min_confidence), 0, 1, kPlaying,
                        "Below which confidence a frame is bad; confidence is how much less the "
                        "best position costs than half of those nearby, 0 to 1. Where all "
                        "positions are the same, as of a flat target on a flat ground, it is 0 and "
                        "the frame is not bad: the target stays where it is");
  return table;
}

const PropertyTable<TrackProperties> &track_properties ()
{
  static const auto table = make_table ();
  return table;
}

}  // namespace integralhist
