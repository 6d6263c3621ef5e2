// SPDX-License-Identifier: LGPL-2.1-or-later
//
// integralhisttrack, on pictures whose truth is known: a textured target that moves over a textured background, is hidden, jumps, and comes back.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include <gst/video/navigation.h>

#if HAVE_ANALYTICS
#include <gst/analytics/analytics.h>
#endif

#include "tracking.hpp"

namespace {

constexpr Place kFirst = { 40, 30, 24, 32 };

/// A target on its way, at most four pixels a frame each way.
Place
way (int frame, const Place &first = kFirst)
{
  return { first.x + int (std::lround (30 * std::sin (frame * 0.12))), first.y + frame % 40, first.width, first.height };
}

std::string
text_of (const Place &place)
{
  g_autofree char *text = g_strdup_printf ("%d,%d,%d,%d", place.x, place.y, place.width, place.height);
  return text;
}

void
expect_at (const std::vector<Seen> &tracks, std::size_t which, const Place &wanted, int frame)
{
  fail_unless (tracks.size () > which, "frame %d: no track", frame);
  const Place &got = tracks[which].box;
  fail_unless (std::abs (got.x - wanted.x) <= 1 && std::abs (got.y - wanted.y) <= 1 && got.width == wanted.width
                   && got.height == wanted.height,
               "frame %d: %s, must be %s", frame, text_of (got).c_str (), text_of (wanted).c_str ());
}

}  // namespace

GST_START_TEST (follows)
{
  const char *const settings[] = {
    "", "measure=emd", "measure=chi-square-alt quantile=0.25", "measure=intersection", "measure=correlation", "update-rate=0.1", "strips=5"
  };
  const Scene scene (160, 120);
  Tracking tracking (std::string (settings[__i__]) + " targets=" + text_of (way (0)));
  tracking.set_caps (160, 120);
  for (int frame = 0; frame < 39; frame++) {
    auto picture = scene.background ();
    scene.draw (picture, way (frame), 7);
    const auto tracks = tracking.follow (picture);
    expect_at (tracks, 0, way (frame), frame);
    fail_unless (tracks.size () == 1 && tracks[0].id == 1 && tracks[0].parent == -1 && !tracks[0].lost);
    fail_unless (tracks[0].confidence > 0.3 && tracks[0].confidence <= 1, "confidence %g", tracks[0].confidence);
  }
}
GST_END_TEST

/// A quarter of the target is hidden all the time.
GST_START_TEST (partly_hidden)
{
  const Scene scene (160, 120);
  Tracking tracking ("targets=" + text_of (way (0)));
  tracking.set_caps (160, 120);
  for (int frame = 0; frame < 39; frame++) {
    auto picture = scene.background ();
    Place place = way (frame);
    scene.draw (picture, place, 7);
    place.height /= 4;
    if (frame > 5)
      scene.draw (picture, place, 99);
    expect_at (tracking.follow (picture), 0, way (frame), frame);
  }
}
GST_END_TEST

GST_START_TEST (several_targets)
{
  const Scene scene (200, 140);
  const Place firsts[] = { { 36, 10, 24, 32 }, { 125, 12, 30, 20 }, { 80, 60, 16, 40 } };
  Tracking tracking ("targets=\"" + text_of (way (0, firsts[0])) + ";" + text_of (way (0, firsts[1])) + ";" + text_of (way (0, firsts[2]))
                     + "\"");
  tracking.set_caps (200, 140);
  for (int frame = 0; frame < 38; frame++) {
    auto picture = scene.background ();
    const auto place = [&] (int i) { return way (i == 1 ? frame / 2 : frame, firsts[i]); };
    for (int i = 0; i < 3; i++)
      scene.draw (picture, place (i), 7 + i);
    const auto tracks = tracking.follow (picture);
    fail_unless_equals_int (tracks.size (), 3);
    for (int i = 0; i < 3; i++) {
      expect_at (tracks, i, place (i), frame);
      fail_unless_equals_int (tracks[i].id, i + 1);
    }
  }
}
GST_END_TEST

/// A target that is hidden is said to be lost, where it was last, and found where it comes back.
GST_START_TEST (lost_and_found)
{
  const Scene scene (320, 240);
  Tracking tracking ("lost-after=3 targets=" + text_of (kFirst));
  tracking.set_caps (320, 240);
  const auto frame = [&] (const Place *place) {
    auto picture = scene.background ();
    if (place)
      scene.draw (picture, *place, 7);
    return tracking.follow (picture);
  };
  Place place = kFirst;
  for (int i = 0; i < 12; i++, place.x += 2)
    expect_at (frame (&place), 0, place, i);
  place.x -= 2;
  int until_lost = 0;
  std::vector<Seen> tracks;
  do
    tracks = frame (nullptr);
  while (!tracks[0].lost && ++until_lost < 10);
  fail_unless (tracks[0].lost && tracks[0].confidence == 0, "not lost after %d frames", until_lost);
  expect_at (tracks, 0, place, 12);
  for (int i = 0; i < 10; i++)
    fail_unless (frame (nullptr)[0].lost, "found what is not there");
  const Place back = { 180, 150, kFirst.width, kFirst.height };
  int until_found = 0;
  do
    tracks = frame (&back);
  while (tracks[0].lost && ++until_found < 40);
  fail_unless (!tracks[0].lost && tracks[0].id == 1);
  expect_at (tracks, 0, back, 30);
  expect_at (frame (&back), 0, back, 31);
}
GST_END_TEST

/// Models follow a target that changes slowly, and not what hides it.
GST_START_TEST (update)
{
  const Scene scene (160, 120);
  const auto run = [&] (const char *settings, const std::function<void (std::vector<guint8> &, int)> &draw, int frames) {
    Tracking tracking (std::string (settings) + " targets=" + text_of (kFirst));
    tracking.set_caps (160, 120);
    std::vector<Seen> tracks;
    for (int frame = 0; frame < frames; frame++) {
      auto picture = scene.background ();
      draw (picture, frame);
      tracks = tracking.follow (picture);
    }
    return tracks[0];
  };

  // from one texture to another, while the first one comes to rest beside it
  const Place end = { kFirst.x + 6, kFirst.y + 5, kFirst.width, kFirst.height };
  const auto change = [&] (std::vector<guint8> &picture, int frame) {
    auto old = picture, now = picture;
    const Place place = frame < 60 ? kFirst : end;
    scene.draw (old, place, 7);
    scene.draw (now, place, 8);
    const int part = std::min (frame, 50);
    for (std::size_t i = 0; i < picture.size (); i++)
      picture[i] = guint8 ((old[i] * (50 - part) + now[i] * part) / 50);
  };
  const Seen updated = run ("lost-after=0 update-rate=0.3", change, 62), kept = run ("lost-after=0", change, 62);
  expect_at ({ updated }, 0, end, 61);
  fail_unless (updated.confidence > kept.confidence + 0.2, "%g, and %g without", updated.confidence, kept.confidence);

  // hidden by something that then stays, while the target goes on
  const auto hide = [&] (std::vector<guint8> &picture, int frame) {
    if (frame < 15 || frame > 25)
      scene.draw (picture, frame < 15 ? kFirst : end, 7);
    else
      scene.draw (picture, { kFirst.x - 8, kFirst.y - 8, kFirst.width + 16, kFirst.height + 16 }, 99);
  };
  expect_at ({ run ("lost-after=0 update-rate=0.5", hide, 32) }, 0, end, 31);
}
GST_END_TEST

/// What confidence a frame must have is a setting.
GST_START_TEST (min_confidence)
{
  const Scene scene (160, 120);
  for (const bool strict : { false, true }) {
    Tracking tracking (std::string ("lost-after=3 min-confidence=") + (strict ? "1" : "0.06") + " targets=" + text_of (way (0)));
    tracking.set_caps (160, 120);
    bool lost = false;
    std::mt19937 random (4);
    for (int frame = 0; frame < 25; frame++) {
      auto picture = scene.background ();
      scene.draw (picture, way (frame), 7);
      for (auto &pixel : picture)  // so that no position is perfect
        pixel = guint8 (std::min<unsigned> (255, pixel + random () % 20));
      lost = lost || tracking.follow (picture)[0].lost;
    }
    fail_unless (lost == strict);
  }
}
GST_END_TEST

/// Without the rule a hidden target drifts.
GST_START_TEST (never_lost)
{
  const Scene scene (160, 120);
  Tracking tracking ("lost-after=0 targets=" + text_of (kFirst));
  tracking.set_caps (160, 120);
  auto picture = scene.background ();
  scene.draw (picture, kFirst, 7);
  for (int i = 0; i < 8; i++)
    tracking.follow (picture);
  for (int i = 0; i < 20; i++)
    fail_unless (!tracking.follow (scene.background ())[0].lost);
}
GST_END_TEST

/// Where nothing is to be told apart, nothing moves, and nothing is lost; whatever the rounding of a box's patches.
GST_START_TEST (even_picture)
{
  const Place places[] = { { 50, 40, 20, 20 },  { 0, 0, 320, 240 }, { 100, 20, 44, 190 }, { 100, 20, 165, 164 },
                           { 100, 50, 41, 82 }, { 0, 0, 30, 30 },   { 290, 210, 30, 30 } };
  std::string all;
  for (const Place &place : places)
    all += text_of (place) + ";";
  for (const char *measure : { "bhattacharyya", "emd", "intersection", "chi-square-alt" }) {
    Tracking tracking (std::string ("measure=") + measure + " targets=\"" + all + "\"");
    tracking.set_caps (320, 240);
    for (int i = 0; i < 25; i++) {
      const auto tracks = tracking.follow (std::vector<guint8> (320 * 240, 80));
      for (std::size_t t = 0; t < tracks.size (); t++)
        fail_unless (tracks[t].box == places[t] && !tracks[t].lost, "%s, frame %d: %s is at %s%s", measure, i, text_of (places[t]).c_str (),
                     text_of (tracks[t].box).c_str (), tracks[t].lost ? ", lost" : "");
    }
  }
}
GST_END_TEST

/// With nowhere else to be, a target is not lost as long as it looks as it did.
GST_START_TEST (large_boxes)
{
  const Scene scene (160, 120);
  Tracking tracking ("targets=0,0,160,120;1,1,158,118;0,0,154,114;5,3,1000000000,2147483647");
  tracking.set_caps (160, 120);
  std::mt19937 random (3);
  for (int frame = 0; frame < 40; frame++) {
    auto picture = scene.background ();
    for (auto &pixel : picture)
      pixel = guint8 (pixel + random () % 5);
    const auto tracks = tracking.follow (picture);
    for (const Seen &track : tracks)
      fail_unless (!track.lost, "frame %d: target %u is lost", frame, track.id);
    fail_unless (tracks[3].box == (Place{ 5, 3, 155, 117 }), "%s", text_of (tracks[3].box).c_str ());
  }
}
GST_END_TEST

GST_START_TEST (scale_search)
{
  const Scene background (200, 160);
  Tracking tracking ("scale-search=true targets=60,40,40,48");
  tracking.set_caps (200, 160);
  std::mt19937 random (5);
  double size = 1;
  std::vector<Seen> tracks;
  for (int frame = 0; frame < 60; frame++, size *= 1.008) {
    auto picture = background.background ();
    // one texture, larger and larger
    std::mt19937 texture (3);
    guint8 squares[10][12];
    for (auto &row : squares)
      for (auto &square : row)
        square = guint8 (90 + texture () % 165);
    for (int y = 0; y < int (48 * size); y++)
      for (int x = 0; x < int (40 * size); x++)
        picture[(40 + y) * 200 + 60 + x] = squares[std::min (9, int (x / size / 4))][std::min (11, int (y / size / 4))];
    tracks = tracking.follow (picture);
  }
  const double wanted = 40 * size;
  fail_unless (tracks[0].box.width > 0.85 * wanted && tracks[0].box.width < 1.15 * wanted, "%d wide, must be %g", tracks[0].box.width,
               wanted);
}
GST_END_TEST

/// From regions of interest: one that a target covers starts none.
GST_START_TEST (from_detections)
{
  const Scene scene (160, 120);
  Tracking tracking ("");
  tracking.set_caps (160, 120);
  for (int frame = 0; frame < 30; frame++) {
    auto picture = scene.background ();
    scene.draw (picture, way (frame), 7);
    const auto add = [&] (GstBuffer *buffer) {
      const Place place = way (frame);
      auto *roi = gst_buffer_add_video_region_of_interest_meta (buffer, "face", place.x, place.y, place.width, place.height);
      roi->id = 40 + frame;
    };
    const auto tracks = frame % 5 == 2 ? tracking.follow (picture, add) : tracking.follow (picture);
    if (frame < 2) {
      fail_unless (tracks.empty ());
      continue;
    }
    fail_unless_equals_int (tracks.size (), 1);
    fail_unless_equals_int (tracks[0].parent, 42);
    expect_at (tracks, 0, way (frame), frame);
  }
  Tracking deaf ("detections=false");
  deaf.set_caps (160, 120);
  const auto add = [] (GstBuffer *buffer) { gst_buffer_add_video_region_of_interest_meta (buffer, "face", 1, 1, 20, 20); };
  fail_unless (deaf.follow (scene.background (), add).empty ());
}
GST_END_TEST

/// Upstream detects the same thing on each frame, over the border and larger and larger: one target. Where it is lost, the detection finds it again.
GST_START_TEST (detected_on_each_frame)
{
  const Scene scene (160, 120);
  const auto detect = [] (const Place &place) {
    return [=] (GstBuffer *buffer) {
      gst_buffer_add_video_region_of_interest_meta (buffer, "face", guint (place.x), guint (place.y), guint (place.width),
                                                    guint (place.height));
    };
  };
  Tracking border ("");
  border.set_caps (160, 120);
  for (int frame = 0; frame < 20; frame++)
    fail_unless_equals_int (border.follow (scene.background (), detect ({ 150, -12, 40, 20 })).size (), 1);
  Tracking growing ("");
  growing.set_caps (160, 120);
  for (int frame = 0; frame < 30; frame++)
    fail_unless_equals_int (growing.follow (scene.background (), detect ({ 40, 30, 20 + 2 * frame, 20 + 2 * frame })).size (), 1);

  Tracking lost ("lost-after=2 forget-after=10");
  lost.set_caps (160, 120);
  auto picture = scene.background ();
  scene.draw (picture, kFirst, 7);
  const std::vector<guint8> black (160 * 120);
  for (int frame = 0; frame < 10; frame++)
    lost.follow (picture, detect (kFirst));
  std::vector<Seen> tracks;
  for (int frame = 0; frame < 5; frame++)
    tracks = lost.follow (black);
  fail_unless (tracks.size () == 1 && tracks[0].lost);
  scene.draw (picture, kFirst, 9);  // it looks different now
  tracks = lost.follow (picture, detect (kFirst));
  fail_unless (tracks.size () == 1 && !tracks[0].lost && tracks[0].id == 1 && tracks[0].box == kFirst);
  for (int frame = 0; frame < 8; frame++)
    lost.follow (picture);
  int frames = 0;
  while (!lost.follow (black).empty ())
    fail_unless (++frames < 20, "not forgotten");
  fail_unless (frames > 10, "forgotten after %d frames", frames);
}
GST_END_TEST

/// The same with GstAnalytics, which also says what is lost.
GST_START_TEST (with_analytics)
{
#if HAVE_ANALYTICS
  const Scene scene (160, 120);
  Tracking tracking ("lost-after=2");
  tracking.set_caps (160, 120);
  int lost_frames = 0;
  for (int frame = 0; frame < 40; frame++) {
    auto picture = scene.background ();
    if (frame < 25)
      scene.draw (picture, way (frame), 7);
    const auto detect = [&] (GstBuffer *buffer) {
      const Place place = way (frame);
      GstAnalyticsODMtd mtd;
      fail_unless (gst_analytics_relation_meta_add_od_mtd (gst_buffer_add_analytics_relation_meta (buffer), g_quark_from_string ("face"),
                                                           place.x, place.y, place.width, place.height, 0.9f, &mtd));
    };
    GstBuffer *buffer = frame == 3 ? tracking.push (picture, detect) : tracking.push (picture);
    fail_unless (buffer);
    GstAnalyticsRelationMeta *relations = gst_buffer_get_analytics_relation_meta (buffer);
    fail_unless ((frame >= 3) == (relations != nullptr));
    GstAnalyticsTrackingMtd track;
    gpointer state = nullptr;
    int tracks = 0;
    while (relations && gst_analytics_relation_meta_iterate (relations, &state, gst_analytics_tracking_mtd_get_mtd_type (), &track)) {
      guint64 id;
      GstClockTime first, last;
      gboolean lost;
      fail_unless (gst_analytics_tracking_mtd_get_info (&track, &id, &first, &last, &lost));
      fail_unless (id == 1 && first == 3 * 40 * GST_MSECOND);
      fail_unless (lost || last == GST_BUFFER_PTS (buffer));
      lost_frames += lost;
      tracks++;
      GstAnalyticsODMtd where;
      fail_unless (gst_analytics_relation_meta_get_direct_related (relations, track.id, GST_ANALYTICS_REL_TYPE_ANY,
                                                                   gst_analytics_od_mtd_get_mtd_type (), nullptr, &where)
                   || gst_analytics_relation_meta_get_od_mtd (relations, track.id - 1, &where));
      Place at;
      float confidence;
      fail_unless (gst_analytics_od_mtd_get_location (&where, &at.x, &at.y, &at.width, &at.height, &confidence));
      if (frame < 25)
        fail_unless (std::abs (at.x - way (frame).x) <= 1 && std::abs (at.y - way (frame).y) <= 1);
    }
    fail_unless_equals_int (tracks, frame >= 3);
    gst_buffer_unref (buffer);
  }
  fail_unless (lost_frames > 5 && lost_frames < 15, "lost for %d frames", lost_frames);
#else
  printf ("SKIP: tracks of GstAnalytics: this build has none (GStreamer 1.24)\n");
#endif
}
GST_END_TEST

GST_START_TEST (from_the_mouse)
{
  const Scene scene (160, 120);
  Tracking tracking ("");
  tracking.set_caps (160, 120);
  const auto mouse = [&] (const char *event, double x, double y) {
    GstStructure *structure = gst_structure_new ("application/x-gst-navigation", "event", G_TYPE_STRING, event, "button", G_TYPE_INT, 1,
                                                 "pointer_x", G_TYPE_DOUBLE, x, "pointer_y", G_TYPE_DOUBLE, y, nullptr);
    gst_harness_push_upstream_event (tracking.harness (), gst_event_new_navigation (structure));
  };
  auto picture = scene.background ();
  scene.draw (picture, kFirst, 7);
  fail_unless (tracking.follow (picture).empty ());
  // from the lower right to the upper left
  mouse ("mouse-button-press", kFirst.x + kFirst.width, kFirst.y + kFirst.height);
  mouse ("mouse-button-release", kFirst.x, kFirst.y);
  expect_at (tracking.follow (picture), 0, kFirst, 1);
  mouse ("mouse-button-press", 2, 2);  // a click beside it
  mouse ("mouse-button-release", 3, 2);
  expect_at (tracking.follow (picture), 0, kFirst, 2);
  mouse ("mouse-button-press", kFirst.x + 9, kFirst.y + 9);
  mouse ("mouse-button-release", kFirst.x + 9, kFirst.y + 10);
  fail_unless (tracking.follow (picture).empty ());
}
GST_END_TEST

/// In mid-track to another size, and bins.
GST_START_TEST (caps_change)
{
  const Scene small (160, 120), large (320, 240, 2);
  Tracking tracking ("targets=" + text_of (way (0)), "cudaintegralhist name=producer bins=16 backend=cpu");
  for (int frame = 0; frame < 36; frame++) {
    const bool doubled = frame >= 12 && frame < 24;
    const Scene &scene = doubled ? large : small;
    if (frame % 12 == 0)
      tracking.set_caps (scene.width, scene.height);
    Place place = way (frame);
    if (doubled)
      place = { place.x * 2, place.y * 2, place.width * 2, place.height * 2 };
    auto picture = scene.background ();
    scene.draw (picture, place, 7);
    const auto tracks = tracking.follow (picture);
    fail_unless (tracks.size () == 1 && tracks[0].id == 1);
    expect_at (tracks, 0, place, frame);
  }
}
GST_END_TEST

/// After a seek the targets start again as configured, the others are gone.
GST_START_TEST (seek)
{
  const Scene scene (160, 120);
  Tracking tracking ("targets=" + text_of (kFirst));
  tracking.set_caps (160, 120);
  const auto at = [&] (int frame) {
    auto picture = scene.background ();
    scene.draw (picture, way (frame), 7);
    return picture;
  };
  for (int frame = 0; frame < 20; frame++)
    tracking.follow (at (frame), [&] (GstBuffer *buffer) {
      if (frame == 3)
        gst_buffer_add_video_region_of_interest_meta (buffer, "face", 120, 90, 20, 20);
    });
  GstHarness *harness = tracking.harness ();
  gst_harness_push_event (harness, gst_event_new_flush_start ());
  gst_harness_push_event (harness, gst_event_new_flush_stop (TRUE));
  GstSegment segment;
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_harness_push_event (harness, gst_event_new_segment (&segment));
  for (int frame = 0; frame < 20; frame++) {
    const auto tracks = tracking.follow (at (frame));
    fail_unless_equals_int (tracks.size (), 1);
    expect_at (tracks, 0, way (frame), frame);
  }
}
GST_END_TEST

/// A segment that goes on is no seek; one that jumps is, without a flush, too. Streams that have no time are tracked as others.
GST_START_TEST (segments)
{
  const Scene scene (160, 120);
  auto picture = scene.background ();
  scene.draw (picture, kFirst, 7);
  Tracking tracking ("targets=" + text_of (kFirst));
  tracking.set_caps (160, 120);
  for (int frame = 0; frame < 10; frame++)
    tracking.follow (picture);
  GstSegment segment;
  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.start = segment.time = segment.position = 400 * GST_MSECOND;
  gst_harness_push_event (tracking.harness (), gst_event_new_segment (&segment));
  fail_unless_equals_int (tracking.follow (picture)[0].id, 1);
  segment.time = 60 * GST_SECOND;
  gst_harness_push_event (tracking.harness (), gst_event_new_segment (&segment));
  fail_unless_equals_int (tracking.follow (picture)[0].id, 2);
  gst_segment_init (&segment, GST_FORMAT_BYTES);
  gst_harness_push_event (tracking.harness (), gst_event_new_segment (&segment));
  expect_at (tracking.follow (picture), 0, kFirst, 12);
}
GST_END_TEST

GST_START_TEST (changed_while_playing)
{
  const Scene scene (160, 120);
  Tracking tracking ("targets=" + text_of (kFirst));
  tracking.set_caps (160, 120);
  auto picture = scene.background ();
  const Place other = { 100, 70, 30, 20 };
  scene.draw (picture, kFirst, 7);
  scene.draw (picture, other, 8);
  expect_at (tracking.follow (picture), 0, kFirst, 0);
  tracking.set ("targets", text_of (other).c_str ());
  const auto tracks = tracking.follow (picture);
  fail_unless (tracks.size () == 1 && tracks[0].id == 2 && tracks[0].box == other);
  tracking.set ("targets", "");
  fail_unless (tracking.follow (picture).empty ());
}
GST_END_TEST

/// Every other frame has no histogram.
GST_START_TEST (interval)
{
  const Scene scene (160, 120);
  Tracking tracking ("targets=" + text_of (kFirst), "cudaintegralhist bins=16 backend=cpu interval=2");
  tracking.set_caps (160, 120);
  for (int frame = 0; frame < 20; frame++) {
    auto picture = scene.background ();
    scene.draw (picture, way (frame / 2), 7);
    const auto tracks = tracking.follow (picture);
    if (frame % 2 == 0)
      expect_at (tracks, 0, way (frame / 2), frame);
    else
      fail_unless (tracks.empty ());
  }
}
GST_END_TEST

/// The same track, to the last digit of the confidence, on every device and with every type of counter; and again in a second run.
GST_START_TEST (devices_agree)
{
  const Scene scene (320, 240);
  const auto run = [&] (const std::string &producer) {
    std::vector<Seen> all;
    Tracking tracking ("lost-after=3 update-rate=0.05 scale-search=true targets=40,30,24,32;150,60,60,50",
                       "cudaintegralhist bins=16 " + producer);
    tracking.set_caps (320, 240);
    for (int frame = 0; frame < 60; frame++) {
      auto picture = scene.background ();
      if (frame < 20 || frame > 34)
        scene.draw (picture, way (frame), 7);
      scene.draw (picture, way (frame, { 150, 60, 60, 50 }), frame < 40 ? 8 : 9);
      std::ranges::copy (tracking.follow (picture), std::back_inserter (all));
    }
    return all;
  };
  const auto wanted = run ("backend=cpu");
  fail_unless (std::ranges::any_of (wanted, &Seen::lost) && wanted.size () == 120);
  const bool cuda = have ("cuda");
  for (const std::string backend : kBackends)
    for (const std::string counter : { "u32", "u16", "u16-anchored" })
      if (backend == "cpu" || cuda)
        fail_unless (run ("backend=" + backend + " counter=" + counter) == wanted, "%s, %s: another track", backend.c_str (),
                     counter.c_str ());
}
GST_END_TEST

static const struct {
  const char *properties, *producer, *error;
} kErrors[] = {
  { "targets=1,1,5,5", "", "put cudaintegralhist before" },
  { "targets=160,10,20,20", "cudaintegralhist backend=cpu", "160,10,20,20 lies outside of the 160x120 frame" },
  { "targets=-20,10,20,20", "cudaintegralhist backend=cpu", "lies outside of the 160x120 frame" },
  { "targets=1,1,5,5", "cudaintegralimage backend=cpu", "put cudaintegralhist before" },
};

GST_START_TEST (errors)
{
  const auto &[properties, producer, wanted] = kErrors[__i__];
  Tracking tracking (properties, producer);
  tracking.set_caps (160, 120);
  fail_unless (!tracking.push (Scene (160, 120).background ()));
  const std::string error = tracking.error ();
  fail_unless (error.find (wanted) != std::string::npos, "\"%s\" does not say \"%s\"", error.c_str (), wanted);
  fail_unless (tracking.error () == "none", "more than one error");
}
GST_END_TEST

GST_START_TEST (bad_settings)
{
  const char *const cases[][2] = { { "targets=1,2,3", "targets=\"1,2,3\": a comma is missing" },
                                   { "quantile=7", "quantile=7.000000 is out of range: set it to 0 to 1" },
                                   { "search-range=0", "search-range=0 is out of range: set it to 1 to 256" },
                                   { "strips=99", "strips=99 is out of range" },
                                   { "targets=1,1,0,4", "is empty" } };
  for (const auto &[setting, wanted] : cases) {
    g_autoptr (GstElement) track = gst_parse_launch ((std::string ("integralhisttrack ") + setting).c_str (), nullptr);
    g_autoptr (GstBus) bus = gst_bus_new ();
    gst_element_set_bus (track, bus);
    fail_unless_equals_int (gst_element_set_state (track, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
    GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
    fail_unless (message, "%s: no error", setting);
    g_autoptr (GError) error = nullptr;
    gst_message_parse_error (message, &error, nullptr);
    fail_unless (strstr (error->message, wanted), "%s: %s", setting, error->message);
    gst_message_unref (message);
    gst_element_set_state (track, GST_STATE_NULL);
    gst_element_set_bus (track, nullptr);
  }
}
GST_END_TEST

/// Boxes partly outside, of one pixel, and as large as the frame: nothing is read that is not there, and the box stays inside.
GST_START_TEST (odd_boxes)
{
  const Scene scene (64, 48);
  const Place places[] = { { -10, -10, 30, 30 }, { 50, 40, 100, 100 }, { 63, 47, 1, 1 },
                           { 0, 0, 64, 48 },     { 10, 10, 1, 30 },    { 5, 20, 50, 1 } };
  std::string all;
  for (const Place &place : places)
    all += text_of (place) + ";";
  Tracking tracking ("scale-search=true update-rate=0.2 lost-after=2 targets=\"" + all + "\"");
  tracking.set_caps (64, 48);
  for (int frame = 0; frame < 30; frame++) {
    auto picture = frame % 7 == 6 ? std::vector<guint8> (64 * 48, 3) : scene.background ();
    scene.draw (picture, { frame * 2, frame, 20, 20 }, frame);
    for (const Seen &track : tracking.follow (picture))
      fail_unless (track.box.x >= 0 && track.box.y >= 0 && track.box.width >= 1 && track.box.height >= 1
                       && track.box.x + track.box.width <= 64 && track.box.y + track.box.height <= 48,
                   "frame %d: track %u at %s", frame, track.id, text_of (track.box).c_str ());
  }
}
GST_END_TEST

static Suite *
track_suite ()
{
  Suite *const suite = suite_create ("track");
  TCase *const tcase = tcase_create ("track");
  suite_add_tcase (suite, tcase);
  tcase_set_timeout (tcase, 60);
  tcase_add_loop_test (tcase, follows, 0, 7);
  tcase_add_test (tcase, partly_hidden);
  tcase_add_test (tcase, several_targets);
  tcase_add_test (tcase, lost_and_found);
  tcase_add_test (tcase, update);
  tcase_add_test (tcase, min_confidence);
  tcase_add_test (tcase, never_lost);
  tcase_add_test (tcase, even_picture);
  tcase_add_test (tcase, large_boxes);
  tcase_add_test (tcase, scale_search);
  tcase_add_test (tcase, from_detections);
  tcase_add_test (tcase, detected_on_each_frame);
  tcase_add_test (tcase, with_analytics);
  tcase_add_test (tcase, from_the_mouse);
  tcase_add_test (tcase, caps_change);
  tcase_add_test (tcase, seek);
  tcase_add_test (tcase, segments);
  tcase_add_test (tcase, changed_while_playing);
  tcase_add_test (tcase, interval);
  tcase_add_test (tcase, devices_agree);
  tcase_add_loop_test (tcase, errors, 0, int (std::size (kErrors)));
  tcase_add_test (tcase, bad_settings);
  tcase_add_test (tcase, odd_boxes);
  return suite;
}

GST_CHECK_MAIN (track)
