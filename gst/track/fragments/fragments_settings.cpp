// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fragments_settings.hpp"

namespace integralhist {

PropertyTable<FragmentsSettings> fragments_properties (const char *before)
{
  PropertyTable<FragmentsSettings> table ({}, before);
  table.choice ("measure", FIELD (measure), GST_TYPE_INTEGRAL_HISTOGRAM_MEASURE, kPlaying,
                "How to compare a patch with its model; not linear",
                [] (const FragmentsSettings &settings) -> Expected<> {
                  if (settings.measure == GST_INTEGRAL_HISTOGRAM_MEASURE_LINEAR)
                    return error (Error::Kind::bad_setting,
                                  "measure=linear adds up weights and compares no histograms: set "
                                  "another measure, such as bhattacharyya");
                  return {};
                });
  table.number<double> ("quantile", FIELD (quantile), 0, 1, kPlaying,
                        "Quantile of the patches' distances that counts for a position; patches "
                        "above it may be hidden");
  table.number<guint> ("search-range", FIELD (search_range), 1, 256, kPlaying,
                       "Maximum pixels that a target moves each way from frame to frame");
  table.number<guint> ("strips", FIELD (strips), 1, 32, kPlaying,
                       "Strips into which each side of a box is cut; a new value holds for targets "
                       "that start later");
  table.number<double> ("update-rate", FIELD (update_rate), 0, 1, kPlaying,
                        "How much of each new histogram goes into a patch's model; 0 = keep the "
                        "first frame's; 0.1 is better on most video");
  table.flag ("scale-search", FIELD (scale_search), kPlaying,
              "Also look for the target 5 % smaller and larger");
  table.number<double> (
      "min-confidence", FIELD (min_confidence), 0, 1, kPlaying,
      "Confidence below which a frame is bad for lost-after; see docs/properties.md");
  return table;
}

}  // namespace integralhist
