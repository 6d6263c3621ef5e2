// SPDX-License-Identifier: LGPL-2.1-or-later
//
// integralhisttrack takes object detections of GstAnalytics, and writes the places and the classes
// of its targets as GstAnalytics metadata.
#include <cstdio>

#include "test.hpp"  // last: it has macros with names of the standard library

#if HAVE_ANALYTICS
#include <gst/analytics/analytics.h>

#include "tracking.hpp"

namespace {

/// The fields of all tracking mtds of a frame, each with the mtds that it is related to.
struct Mtds {
  guint64 id;
  GstClockTime first_seen, last_seen;
  gboolean lost;
  Place box;
  float confidence;
  std::string class_name;  // empty without a classification
  float class_confidence;
};

std::vector<Mtds> mtds_of (GstBuffer *buffer)
{
  std::vector<Mtds> all;
  GstAnalyticsRelationMeta *const relations = gst_buffer_get_analytics_relation_meta (buffer);
  GstAnalyticsODMtd where;
  gpointer state = nullptr;
  while (relations
         && gst_analytics_relation_meta_iterate (relations, &state,
                                                 gst_analytics_od_mtd_get_mtd_type (), &where)) {
    if (gst_analytics_od_mtd_get_obj_type (&where) != g_quark_from_string ("track"))
      continue;
    GstAnalyticsTrackingMtd track;
    GstAnalyticsClsMtd classes;
    Mtds mtds = {};
    fail_unless (gst_analytics_relation_meta_get_direct_related (
        relations, where.id, GST_ANALYTICS_REL_TYPE_RELATE_TO,
        gst_analytics_tracking_mtd_get_mtd_type (), nullptr, &track));
    fail_unless (gst_analytics_tracking_mtd_get_info (&track, &mtds.id, &mtds.first_seen,
                                                      &mtds.last_seen, &mtds.lost));
    fail_unless (gst_analytics_od_mtd_get_location (
        &where, &mtds.box.x, &mtds.box.y, &mtds.box.width, &mtds.box.height, &mtds.confidence));
    if (gst_analytics_relation_meta_get_direct_related (
            relations, where.id, GST_ANALYTICS_REL_TYPE_RELATE_TO,
            gst_analytics_cls_mtd_get_mtd_type (), nullptr, &classes)) {
      fail_unless_equals_int (gst_analytics_cls_mtd_get_length (&classes), 2);
      fail_unless (gst_analytics_cls_mtd_get_quark (&classes, 1) == g_quark_from_string ("track")
                   && gst_analytics_cls_mtd_get_level (&classes, 1) == 0);
      mtds.class_name = g_quark_to_string (gst_analytics_cls_mtd_get_quark (&classes, 0));
      mtds.class_confidence = gst_analytics_cls_mtd_get_level (&classes, 0);
    }
    all.push_back (mtds);
  }
  GstAnalyticsTrackingMtd any;
  int n_tracking = 0;
  for (state = nullptr; relations
                        && gst_analytics_relation_meta_iterate (
                            relations, &state, gst_analytics_tracking_mtd_get_mtd_type (), &any);)
    n_tracking++;
  fail_unless_equals_int (n_tracking, all.size ());
  return all;
}

void detect (GstBuffer *buffer, const char *what, const Place &place, float confidence)
{
  GstAnalyticsRelationMeta *relations = gst_buffer_get_analytics_relation_meta (buffer);
  if (!relations)
    relations = gst_buffer_add_analytics_relation_meta (buffer);
  GstAnalyticsODMtd mtd;
  fail_unless (gst_analytics_relation_meta_add_od_mtd (relations, g_quark_from_string (what),
                                                       place.x, place.y, place.width, place.height,
                                                       confidence, &mtd));
}

/// An object as an element sees it that reads object detections and knows no tracks, such as DL
/// Streamer's gvametaconvert or GStreamer's objectdetectionoverlay.
struct Object {
  std::string label;
  Place box;
  float confidence;
  gint64 id;          // of the tracking mtd that it relates to directly, or -1
  gint label_id;      // the place of the label among its classes, -1 if it is not one of them
  std::string drawn;  // the class that is drawn, or the label
};

std::vector<Object> objects_of (GstBuffer *buffer)
{
  std::vector<Object> objects;
  GstAnalyticsRelationMeta *const relations = gst_buffer_get_analytics_relation_meta (buffer);
  GstAnalyticsODMtd found;
  gpointer state = nullptr;
  while (relations
         && gst_analytics_relation_meta_iterate (relations, &state,
                                                 gst_analytics_od_mtd_get_mtd_type (), &found)) {
    Object object = {
      g_quark_to_string (gst_analytics_od_mtd_get_obj_type (&found)), {}, 0, -1, 0, ""
    };
    object.drawn = object.label;
    Place &box = object.box;
    fail_unless (gst_analytics_od_mtd_get_location (&found, &box.x, &box.y, &box.width, &box.height,
                                                    &object.confidence));
    GstAnalyticsTrackingMtd tracking;
    if (gst_analytics_relation_meta_get_direct_related (
            relations, found.id, GST_ANALYTICS_REL_TYPE_ANY,
            gst_analytics_tracking_mtd_get_mtd_type (), nullptr, &tracking)) {
      guint64 id;
      GstClockTime first, last;
      gboolean lost;
      fail_unless (gst_analytics_tracking_mtd_get_info (&tracking, &id, &first, &last, &lost));
      object.id = gint64 (id);
    }
    GstAnalyticsClsMtd classes;
    if (gst_analytics_relation_meta_get_direct_related (
            relations, found.id, GST_ANALYTICS_REL_TYPE_RELATE_TO,
            gst_analytics_cls_mtd_get_mtd_type (), nullptr, &classes)) {
      object.label_id = gst_analytics_cls_mtd_get_index_by_quark (
          &classes, gst_analytics_od_mtd_get_obj_type (&found));
      object.drawn = g_quark_to_string (gst_analytics_cls_mtd_get_quark (&classes, 0));
    }
    objects.push_back (object);
  }
  return objects;
}

bool is_near (const Place &a, const Place &b, int pixels)
{
  return std::abs (a.x - b.x) <= pixels && std::abs (a.y - b.y) <= pixels
         && std::abs (a.width - b.width) <= pixels && std::abs (a.height - b.height) <= pixels;
}

}  // namespace

/// A detector of two things looks at every fifth frame. Their ids and classes go on in all others.
TEST (behind_a_detector)
{
  const Scene scene (240, 160);
  const Place firsts[] = { kFirst, { 150, 40, 36, 28 } };
  const char *const class_names[] = { "face", "plate" };
  Tracking tracking (scene, "method=correlation", "cudatrackfeatures backend=cpu");
  for (int frame = 0; frame < 36; frame++) {
    auto picture = scene.background ();
    for (int i = 0; i < 2; i++)
      scene.draw (picture, way (frame, firsts[i]), 7 + i);
    const bool looks = frame % 5 == 2;
    g_autoptr (GstBuffer) buffer = tracking.push (picture, [&] (GstBuffer *pushed) {
      for (int i = 0; looks && i < 2; i++)
        detect (pushed, class_names[i], way (frame, firsts[i]), 0.875f + 0.0625f * float (i));
    });
    fail_unless (buffer, "%s", tracking.error ().c_str ());
    const auto tracks = mtds_of (buffer);
    fail_unless_equals_int (tracks.size (), frame < 2 ? 0 : 2);
    for (const Mtds &track : tracks) {
      const int i = track.class_name == class_names[1];  // the surer one comes first
      fail_unless_equals_string (track.class_name.c_str (), class_names[i]);
      fail_unless (track.class_confidence == 0.875f + 0.0625f * float (i));
      fail_unless (track.id == guint64 (2 - i) && track.first_seen == 2 * 40 * GST_MSECOND
                   && track.last_seen == GST_BUFFER_PTS (buffer) && !track.lost);
      // a detection counts for more than the filter's answer, but not alone
      fail_unless (is_near (track.box, way (frame, firsts[i]), looks ? 2 : 4), "frame %d: %s",
                   frame, text_of (track.box).c_str ());
      fail_unless (track.confidence > 0 && track.confidence <= 1);
    }
    // the detector's objects are unchanged, and have the ids of the tracks
    const auto objects = objects_of (buffer);
    const std::size_t detected = looks ? 2 : 0;
    fail_unless_equals_int (objects.size (), detected + tracks.size ());
    for (std::size_t o = 0; o < objects.size (); o++) {
      const Object &object = objects[o];
      const int i = o < detected ? int (o) : object.drawn == class_names[1];
      fail_unless_equals_string (object.label.c_str (), o < detected ? class_names[i] : "track");
      fail_unless_equals_string (object.drawn.c_str (), class_names[i]);
      fail_unless (object.id == 2 - i && object.label_id >= 0);
      if (o < detected)
        fail_unless (object.box == way (frame, firsts[i])
                     && object.confidence == 0.875f + 0.0625f * float (i));
    }
  }
}

/// Many targets have all of their mtds, whether a detector's meta grows for them or there was none.
/// Behind a scaler the mtds are at the scaled places.
TEST (many)
{
  constexpr int kColumns = 15, kRows = 10;
  const Scene scene (320, 240);
  const auto place = [] (int i) {
    return Place{ 20 * (i % kColumns) + 4, 22 * (i / kColumns) + 4, 12, 12 };
  };
  std::string targets;
  for (int i = 0; i < kColumns * kRows; i++)
    targets += text_of (place (i)) + ";";
  for (const bool detector : { false, true }) {
    Tracking tracking (
        scene,
        std::string ("update-rate=0 detections=false targets=") + targets
            + " ! videoscale add-borders=false ! capsfilter caps=video/x-raw,width=160,height=120");
    for (int frame = 0; frame < 3; frame++) {
      g_autoptr (GstBuffer) buffer = tracking.push (scene.background (), [&] (GstBuffer *pushed) {
        if (detector)
          detect (pushed, "face", { 8, 8, 40, 40 }, 0.5f);
      });
      fail_unless (buffer, "%s", tracking.error ().c_str ());
      const auto tracks = mtds_of (buffer);
      fail_unless_equals_int (tracks.size (), kColumns * kRows);
      for (std::size_t i = 0; i < tracks.size (); i++) {
        const Place at = place (int (i));
        fail_unless (tracks[i].id == i + 1 && tracks[i].class_name.empty ());
        fail_unless (tracks[i].first_seen == 0 && tracks[i].lost == (tracks[i].confidence == 0));
        if (!tracks[i].lost)
          fail_unless (is_near (tracks[i].box, { at.x / 2, at.y / 2, 6, 6 }, 1), "%zu: %s", i,
                       text_of (tracks[i].box).c_str ());
      }
      const auto objects = objects_of (buffer);
      fail_unless_equals_int (objects.size (), tracks.size () + detector);
      if (detector)
        fail_unless (objects[0].label == "face" && objects[0].id == -1
                     && objects[0].box == (Place{ 4, 4, 20, 20 }));
    }
  }
}

/// A lost target is marked as lost, at its last place, until a detection finds it again.
TEST (lost_and_detected)
{
  const Scene scene (160, 120);
  Tracking tracking (scene, "method=correlation lost-after=2", "cudatrackfeatures backend=cpu");
  const auto pass = [&] (bool drawn, bool detected) {
    const auto picture = drawn ? scene.with (kFirst) : scene.background ();
    GstBuffer *const buffer = tracking.push (picture, [&] (GstBuffer *pushed) {
      if (detected)
        detect (pushed, "face", kFirst, 0.9f);
    });
    fail_unless (buffer, "%s", tracking.error ().c_str ());
    const auto tracks = mtds_of (buffer);
    gst_buffer_unref (buffer);
    fail_unless (tracks.size () == 1 && tracks[0].id == 1);
    return tracks[0];
  };
  for (int frame = 0; frame < 8; frame++)
    fail_unless (!pass (true, frame == 0).lost);
  Mtds last = {};
  GstClockTime seen = 7 * 40 * GST_MSECOND;
  for (int frame = 8; frame < 16; frame++) {
    last = pass (false, false);
    if (!last.lost)
      seen = GstClockTime (frame) * 40 * GST_MSECOND;
    fail_unless (last.first_seen == 0 && last.last_seen == seen);
  }
  fail_unless (last.lost && last.confidence == 0 && is_near (last.box, kFirst, 20));
  const Mtds again = pass (true, true);
  fail_unless (!again.lost && again.first_seen == 0 && again.last_seen == 16 * 40 * GST_MSECOND);
}

/// The fragments tracker writes the same metadata, for a target that is then lost.
TEST (with_fragments)
{
  const Scene scene (160, 120);
  Tracking tracking (scene, "lost-after=2");
  int lost_frames = 0;
  for (int frame = 0; frame < 40; frame++) {
    const auto picture = frame < 25 ? scene.with (way (frame)) : scene.background ();
    g_autoptr (GstBuffer) buffer = tracking.push (picture, [&] (GstBuffer *pushed) {
      if (frame == 3)
        detect (pushed, "face", way (frame), 0.9f);
    });
    fail_unless (buffer);
    fail_unless ((frame >= 3) == (gst_buffer_get_analytics_relation_meta (buffer) != nullptr));
    const auto tracks = mtds_of (buffer);
    fail_unless_equals_int (tracks.size (), frame >= 3);
    for (const Mtds &track : tracks) {
      fail_unless (track.id == 1 && track.first_seen == 3 * 40 * GST_MSECOND);
      fail_unless (track.lost || track.last_seen == GST_BUFFER_PTS (buffer));
      lost_frames += track.lost;
      if (frame < 25)
        fail_unless (std::abs (track.box.x - way (frame).x) <= 1
                     && std::abs (track.box.y - way (frame).y) <= 1);
    }
  }
  fail_unless (lost_frames > 5 && lost_frames < 15, "lost for %d frames", lost_frames);
}

#else

/// Prints that nothing is tested.
TEST (no_analytics)
{
  printf ("SKIP: track_analytics: built without gstreamer-analytics-1.0, which GStreamer 1.24 has "
          "(package libgstreamer-plugins-bad1.0-dev)\n");
}

#endif
