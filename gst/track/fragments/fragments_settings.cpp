// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fragments_settings.hpp"

namespace integralhist {

PropertyTable<FragmentsSettings> fragments_properties (const char *before)
{
  PropertyTable<FragmentsSettings> table ({}, before);
  table.choice ("measure", FIELD (measure), GST_TYPE_INTEGRAL_HISTOGRAM_MEASURE, kPlaying,
                "How to compare a patch and its model; linear compares no histograms, and is an "
                "error",
                [] (const FragmentsSettings &settings) -> Expected<> {
                  if (settings.measure == GST_INTEGRAL_HISTOGRAM_MEASURE_LINEAR)
                    return error (Error::Kind::bad_setting,
                                  "measure=linear: it adds up weights, and compares no histograms: "
                                  "set another measure, as bhattacharyya");
                  return {};
                });
  table.number<double> ("quantile", FIELD (quantile), 0, 1, kPlaying,
                        "Which of the patches' distances, from 0 for the least to 1 for the "
                        "largest, is that of a position; the patches above it may be hidden");
  table.number<guint> ("search-range", FIELD (search_range), 1, 256, kPlaying,
                       "How far a target moves at most from frame to frame, in pixels each way");
  table.number<guint> ("strips", FIELD (strips), 1, 32, kPlaying,
                       "How many strips of patches a box is cut into along each side, each of two "
                       "patches; for targets that start from now on");
  table.number<double> ("update-rate", FIELD (update_rate), 0, 1, kPlaying,
                        "How much of a patch's histogram goes into its model with each frame, for "
                        "patches that agree, and none while the target may be hidden. 0 keeps the "
                        "first frame's models, as in the paper; 0.1 follows slow changes, and is "
                        "better on most video");
  table.flag ("scale-search", FIELD (scale_search), kPlaying,
              "Look for the target 5 % smaller and larger, too");
  table.number<double> ("min-confidence", FIELD (min_confidence), 0, 1, kPlaying,
                        "Below which confidence a frame is bad; confidence is how much less the "
                        "best position costs than half of those nearby, 0 to 1. Where all "
                        "positions are the same, as of a flat target on a flat ground, it is 0 and "
                        "the frame is not bad: the target stays where it is");
  return table;
}

}  // namespace integralhist
