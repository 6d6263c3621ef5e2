// SPDX-License-Identifier: LGPL-2.1-or-later
#include "frame_boxes.hpp"

#include <gst/integralhist/base/error.hpp>
#include <gst/integralhist/base/number.hpp>
#include <gst/integralhist/meta/tracks.hpp>

#if HAVE_ANALYTICS
#include <gst/analytics/analytics.h>
#endif

namespace integralhist {

/// Returns the class name of a detection; empty if is_class_name () refuses the name.
static std::string class_name_of (GQuark quark)
{
  const char *const text = g_quark_to_string (quark);
  return text && is_class_name (text) ? text : "";
}

/// Sets a detection's confidence to the first number called "confidence" in the parameters of a
/// region of interest, where detectors write it.
static void read_confidence (const GstVideoRegionOfInterestMeta *roi, Detection &detection)
{
  for (const GList *param = roi->params; param && !detection.confidence; param = param->next)
    if (const GValue *const value = gst_structure_get_value (
            static_cast<const GstStructure *> (param->data), "confidence")) {
      detection.confidence = number_of (value);
      g_autofree gchar *text = g_strdup_value_contents (value);
      detection.bad_confidence =
          detection.confidence ? "" : joined ("(", G_VALUE_TYPE_NAME (value), ") ", text);
    }
}

std::vector<Detection> read_detections (GstBuffer *buffer)
{
  std::vector<Detection> detections;
  each_roi (buffer, [&] (const GstVideoRegionOfInterestMeta *roi) {
    if (is_track (roi))
      return;
    detections.push_back ({ roi->id,
                            { gint (roi->x), gint (roi->y), gint (roi->w), gint (roi->h) },
                            class_name_of (roi->roi_type),
                            std::nullopt });
    read_confidence (roi, detections.back ());
  });
#if HAVE_ANALYTICS
  if (GstAnalyticsRelationMeta *relations = gst_buffer_get_analytics_relation_meta (buffer)) {
    GstAnalyticsODMtd mtd;
    gpointer state = nullptr;
    while (gst_analytics_relation_meta_iterate (relations, &state,
                                                gst_analytics_od_mtd_get_mtd_type (), &mtd)) {
      GstVideoRectangle box;
      gfloat confidence;
      const GQuark type = gst_analytics_od_mtd_get_obj_type (&mtd);
      if (type != g_quark_from_static_string (kTrackType)
          && gst_analytics_od_mtd_get_location (&mtd, &box.x, &box.y, &box.w, &box.h,
                                                &confidence)) {
        detections.push_back (
            { gint (mtd.id), box, class_name_of (type), std::nullopt, "", mtd.id });
        set_confidence (detections.back (), confidence);
      }
    }
  }
#endif
  read_deepstream_detections (buffer, detections);
  return detections;
}

#if HAVE_ANALYTICS

/// Writes one track for write_analytics (). `detection` is the target's in this frame, or null.
static void write_mtds (GstAnalyticsRelationMeta *relations, const TrackedBox &target,
                        const Detection *detection)
{
  const Track &track = target.track;
  const GstVideoRectangle &box = track.box;
  GstAnalyticsODMtd where;
  GstAnalyticsTrackingMtd mtd;
  if (!gst_analytics_relation_meta_add_od_mtd (relations, g_quark_from_static_string (kTrackType),
                                               box.x, box.y, box.w, box.h,
                                               gfloat (track.confidence), &where)
      || !gst_analytics_relation_meta_add_tracking_mtd (relations, track.id, target.first_seen,
                                                        &mtd))
    return;
  gst_analytics_tracking_mtd_update_last_seen (&mtd, target.last_seen);
  if (track.is_lost)
    gst_analytics_tracking_mtd_set_lost (&mtd);
  const auto relate = [&] (guint from, guint to) {
    gst_analytics_relation_meta_set_relation (relations, GST_ANALYTICS_REL_TYPE_RELATE_TO, from,
                                              to);
  };
  relate (where.id, mtd.id);
  if (detection && detection->mtd_id)
    relate (*detection->mtd_id, mtd.id);
  if (track.class_name.empty ())
    return;
  // DL Streamer requires that the type of an object detection, "track", is also one of its classes.
  gfloat levels[] = { gfloat (track.detection_confidence.value_or (1)), 0 };
  GQuark classes[] = { g_quark_from_string (track.class_name.c_str ()),
                       g_quark_from_static_string (kTrackType) };
  GstAnalyticsClsMtd classification;
  if (gst_analytics_relation_meta_add_cls_mtd (relations, 2, levels, classes, &classification))
    relate (where.id, classification.id);
}

void write_analytics (GstBuffer *buffer, const std::vector<TrackedBox> &tracks,
                      const std::vector<Detection> &detections)
{
  // Reserves room for all tracks, because a GstAnalytics meta that grows is copied again and again.
  GstAnalyticsRelationMeta *relations = gst_buffer_get_analytics_relation_meta (buffer);
  GstAnalyticsRelationMetaInitParams room = { 3 * tracks.size (), 256 * tracks.size () };
  if (!relations)
    relations = gst_buffer_add_analytics_relation_meta_full (buffer, &room);
  for (const TrackedBox &track : tracks)
    write_mtds (relations, track, track.detection ? &detections[*track.detection] : nullptr);
}

#else

void write_analytics (GstBuffer *, const std::vector<TrackedBox> &, const std::vector<Detection> &)
{
}

#endif

}  // namespace integralhist
