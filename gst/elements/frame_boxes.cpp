// SPDX-License-Identifier: LGPL-2.1-or-later
#include "frame_boxes.hpp"

#if HAVE_ANALYTICS
#include <gst/analytics/analytics.h>
#endif

namespace integralhist {

static const char *const kTrack = "track";

std::vector<Detection> read_detections (GstBuffer *buffer)
{
  std::vector<Detection> detections;
  gpointer state = nullptr;
  while (GstMeta *meta = gst_buffer_iterate_meta_filtered (
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    const auto *roi = reinterpret_cast<const GstVideoRegionOfInterestMeta *> (meta);
    if (roi->roi_type != g_quark_from_static_string (kTrack))
      detections.push_back (
          { roi->id, { gint (roi->x), gint (roi->y), gint (roi->w), gint (roi->h) } });
  }
#if HAVE_ANALYTICS
  if (GstAnalyticsRelationMeta *relations = gst_buffer_get_analytics_relation_meta (buffer)) {
    GstAnalyticsODMtd mtd;
    state = nullptr;
    while (gst_analytics_relation_meta_iterate (relations, &state,
                                                gst_analytics_od_mtd_get_mtd_type (), &mtd)) {
      GstVideoRectangle box;
      gfloat confidence;
      if (gst_analytics_od_mtd_get_obj_type (&mtd) != g_quark_from_static_string (kTrack)
          && gst_analytics_od_mtd_get_location (&mtd, &box.x, &box.y, &box.w, &box.h, &confidence))
        detections.push_back ({ gint (mtd.id), box });
    }
  }
#endif
  return detections;
}

void write_track (GstBuffer *buffer, const Track &track)
{
  const GstVideoRectangle &box = track.box;
  if (!track.lost) {
    auto *roi = gst_buffer_add_video_region_of_interest_meta (
        buffer, kTrack, guint (box.x), guint (box.y), guint (box.w), guint (box.h));
    roi->id = gint (track.id);
    roi->parent_id = track.parent;
    gst_video_region_of_interest_meta_add_param (
        roi, gst_structure_new (kTrack, "confidence", G_TYPE_DOUBLE, track.confidence, nullptr));
  }
#if HAVE_ANALYTICS
  GstAnalyticsRelationMeta *relations = gst_buffer_get_analytics_relation_meta (buffer);
  if (!relations)
    relations = gst_buffer_add_analytics_relation_meta (buffer);
  GstAnalyticsODMtd where;
  GstAnalyticsTrackingMtd mtd;
  if (!gst_analytics_relation_meta_add_od_mtd (relations, g_quark_from_static_string (kTrack),
                                               box.x, box.y, box.w, box.h,
                                               gfloat (track.confidence), &where)
      || !gst_analytics_relation_meta_add_tracking_mtd (relations, track.id, track.first_seen,
                                                        &mtd))
    return;
  gst_analytics_tracking_mtd_update_last_seen (&mtd, track.last_seen);
  if (track.lost)
    gst_analytics_tracking_mtd_set_lost (&mtd);
  gst_analytics_relation_meta_set_relation (relations, GST_ANALYTICS_REL_TYPE_RELATE_TO, where.id,
                                            mtd.id);
#endif
}

}  // namespace integralhist
