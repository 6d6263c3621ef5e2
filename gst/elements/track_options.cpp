// SPDX-License-Identifier: LGPL-2.1-or-later
#include "track_options.hpp"

#include "parse.hpp"
#include "settings.hpp"

namespace integralhist {

namespace {

constexpr guint kMaxSearchRange = 256, kMaxStrips = 32, kMaxLostAfter = 1000;

enum {
  PROP_TARGETS = 1,
  PROP_DETECTIONS,
  PROP_NAVIGATION,
  PROP_MEASURE,
  PROP_QUANTILE,
  PROP_SEARCH_RANGE,
  PROP_STRIPS,
  PROP_UPDATE_RATE,
  PROP_SCALE_SEARCH,
  PROP_LOST_AFTER,
  PROP_FORGET_AFTER,
  PROP_MIN_CONFIDENCE,
};

}  // namespace

bool TrackOptions::set (guint id, const GValue *value)
{
  switch (id) {
    case PROP_TARGETS:
      targets = g_value_get_string (value) ? g_value_get_string (value) : "";
      break;
    case PROP_DETECTIONS: detections = g_value_get_boolean (value); break;
    case PROP_NAVIGATION: navigation = g_value_get_boolean (value); break;
    case PROP_MEASURE:
      track.measure = GstIntegralHistogramMeasure (g_value_get_enum (value));
      break;
    case PROP_QUANTILE: track.quantile = g_value_get_double (value); break;
    case PROP_SEARCH_RANGE: track.search_range = g_value_get_uint (value); break;
    case PROP_STRIPS: track.strips = g_value_get_uint (value); break;
    case PROP_UPDATE_RATE: track.update_rate = g_value_get_double (value); break;
    case PROP_SCALE_SEARCH: track.scale_search = g_value_get_boolean (value); break;
    case PROP_LOST_AFTER: track.lost_after = g_value_get_uint (value); break;
    case PROP_FORGET_AFTER: forget_after = g_value_get_uint (value); break;
    case PROP_MIN_CONFIDENCE: track.min_confidence = g_value_get_double (value); break;
    default: return false;
  }
  return true;
}

bool TrackOptions::get (guint id, GValue *value) const
{
  switch (id) {
    case PROP_TARGETS: g_value_set_string (value, targets.c_str ()); break;
    case PROP_DETECTIONS: g_value_set_boolean (value, detections); break;
    case PROP_NAVIGATION: g_value_set_boolean (value, navigation); break;
    case PROP_MEASURE: g_value_set_enum (value, track.measure); break;
    case PROP_QUANTILE: g_value_set_double (value, track.quantile); break;
    case PROP_SEARCH_RANGE: g_value_set_uint (value, track.search_range); break;
    case PROP_STRIPS: g_value_set_uint (value, track.strips); break;
    case PROP_UPDATE_RATE: g_value_set_double (value, track.update_rate); break;
    case PROP_SCALE_SEARCH: g_value_set_boolean (value, track.scale_search); break;
    case PROP_LOST_AFTER: g_value_set_uint (value, track.lost_after); break;
    case PROP_FORGET_AFTER: g_value_set_uint (value, forget_after); break;
    case PROP_MIN_CONFIDENCE: g_value_set_double (value, track.min_confidence); break;
    default: return false;
  }
  return true;
}

Expected<> TrackOptions::check () const
{
  TRY (check_range ("search-range", gint64 (track.search_range), 1, kMaxSearchRange));
  TRY (check_range ("strips", gint64 (track.strips), 1, kMaxStrips));
  TRY (check_range ("lost-after", gint64 (track.lost_after), 0, kMaxLostAfter));
  for (const auto &[name, value] :
       { std::pair ("quantile", track.quantile), std::pair ("update-rate", track.update_rate),
         std::pair ("min-confidence", track.min_confidence) })
    TRY (check_range (name, value, 0.0, 1.0));
  TRY (parse_regions (targets, "targets"));
  return {};
}

void install_track_properties (GObjectClass *klass)
{
  const TrackOptions by_default;
  const TrackSettings &track = by_default.track;
  const GParamFlags playing = mutable_playing ();
  const auto install = [&] (guint id, GParamSpec *spec) {
    g_object_class_install_property (klass, id, spec);
  };
  install (PROP_TARGETS,
           g_param_spec_string ("targets", "Targets",
                                "Boxes \"x,y,width,height;...\" in pixels of the first frame to "
                                "follow from there, as far as they lie in it; one outside is an "
                                "error. When it is set later, the targets that it gave before are "
                                "dropped, and these start in the next frame",
                                by_default.targets.c_str (), playing));
  install (PROP_DETECTIONS,
           g_param_spec_boolean ("detections", "Detections",
                                 "Follow each region of interest, and object detection of "
                                 "GstAnalytics, of a frame that no target covers yet",
                                 by_default.detections, playing));
  install (PROP_NAVIGATION,
           g_param_spec_boolean ("navigation", "Navigation",
                                 "Follow what the mouse draws a box around in a video window; a "
                                 "click on a target drops it, until upstream detects it again",
                                 by_default.navigation, playing));
  install (PROP_MEASURE,
           g_param_spec_enum ("measure", "Measure", "How to compare a patch and its model",
                              GST_TYPE_INTEGRAL_HISTOGRAM_MEASURE, track.measure, playing));
  install (PROP_QUANTILE,
           checked_double_spec ("quantile", "Quantile",
                                "Which of the patches' distances, from 0 for the least to 1 for "
                                "the largest, is that of a position; the patches above it "
                                "may be hidden",
                                0, 1, track.quantile, playing));
  install (
      PROP_SEARCH_RANGE,
      checked_uint_spec ("search-range", "Search range",
                         "How far a target moves at most from frame to frame, in pixels each way",
                         1, kMaxSearchRange, track.search_range, playing));
  install (PROP_STRIPS,
           checked_uint_spec ("strips", "Strips",
                              "How many strips of patches a box is cut into along each side, each "
                              "of two patches; for targets that start from now on",
                              1, kMaxStrips, track.strips, playing));
  install (
      PROP_UPDATE_RATE,
      checked_double_spec (
          "update-rate", "Update rate",
          "How much of a patch's histogram goes into its model with each frame, for patches that "
          "agree, and none while the target may be hidden; 0 "
          "keeps the first frame's models, as the paper does, 0.1 follows slow changes",
          0, 1, track.update_rate, playing));
  install (PROP_SCALE_SEARCH,
           g_param_spec_boolean ("scale-search", "Scale search",
                                 "Look for the target 5 % smaller and larger, too",
                                 track.scale_search, playing));
  install (PROP_LOST_AFTER,
           checked_uint_spec ("lost-after", "Lost after",
                              "After how many bad frames in a row a target is lost; 0 for never", 0,
                              kMaxLostAfter, track.lost_after, playing));
  install (PROP_FORGET_AFTER,
           g_param_spec_uint ("forget-after", "Forget after",
                              "After how many frames a lost target is given up, unless it is one "
                              "of the property targets; 0 for never",
                              0, G_MAXUINT, by_default.forget_after, playing));
  install (PROP_MIN_CONFIDENCE,
           checked_double_spec ("min-confidence", "Minimal confidence",
                                "Below which confidence a frame is bad; confidence is how much "
                                "less the best position costs than half of those nearby, 0 to 1",
                                0, 1, track.min_confidence, playing));
}

}  // namespace integralhist
