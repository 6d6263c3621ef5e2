// SPDX-License-Identifier: LGPL-2.1-or-later
//
// integralhisttrack runs in a stream. It takes targets from detections and from the mouse; caps and
// settings change, seeks come, and what goes wrong is one error.
#include <gst/video/navigation.h>

#include "missing.hpp"
#include "tracking.hpp"
#include "test.hpp"

/// Regions of interest start targets, but for one that a target covers.
TEST (from_detections)
{
  const Scene scene (160, 120);
  Tracking tracking (scene, "");
  for (int frame = 0; frame < 30; frame++) {
    const auto picture = scene.with (way (frame));
    const auto add = [&] (GstBuffer *buffer) {
      add_detection (buffer, "face", way (frame), 0.9)->id = 40 + frame;
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
  Tracking deaf (scene, "detections=false");
  const auto add = [] (GstBuffer *buffer) { add_detection (buffer, "face", { 1, 1, 20, 20 }, -1); };
  fail_unless (deaf.follow (scene.background (), add).empty ());
}

/// Upstream detects the same thing on each frame, over the border and larger and larger: it is one
/// target. If it is lost, the detection finds it again.
TEST (detected_on_each_frame)
{
  const Scene scene (160, 120);
  const auto detect = [] (const Place &place) {
    return [=] (GstBuffer *buffer) { add_detection (buffer, "face", place, 0.9); };
  };
  Tracking border (scene, "");
  for (int frame = 0; frame < 20; frame++)
    fail_unless_equals_int (
        border.follow (scene.background (), detect ({ 150, -12, 40, 20 })).size (), 1);
  Tracking growing (scene, "");
  for (int frame = 0; frame < 30; frame++)
    fail_unless_equals_int (
        growing.follow (scene.background (), detect ({ 40, 30, 20 + 2 * frame, 20 + 2 * frame }))
            .size (),
        1);

  Tracking lost (scene, "lost-after=2 remember=0.6 max-misses=3");
  auto picture = scene.with (kFirst);
  const std::vector<guint8> black (160 * 120);
  for (int frame = 0; frame < 10; frame++)
    lost.follow (picture, detect (kFirst));
  std::vector<Seen> tracks;
  for (int frame = 0; frame < 5; frame++)
    tracks = lost.follow (black);
  fail_unless (tracks.size () == 1 && tracks[0].lost);
  scene.draw (picture, kFirst, 9);  // it looks different now
  tracks = lost.follow (picture, detect (kFirst));
  fail_unless (tracks.size () == 1 && !tracks[0].lost && tracks[0].id == 1
               && tracks[0].box == kFirst);
  int frames = 0;
  while (!lost.follow (black).empty ())
    fail_unless (++frames < 20, "not forgotten");
  fail_unless (frames > 10, "forgotten after %d frames", frames);
}

TEST (from_the_mouse)
{
  const Scene scene (160, 120);
  Tracking tracking (scene, "");
  const auto mouse = [&] (const char *event, double x, double y) {
    GstStructure *structure = gst_structure_new (
        "application/x-gst-navigation", "event", G_TYPE_STRING, event, "button", G_TYPE_INT, 1,
        "pointer_x", G_TYPE_DOUBLE, x, "pointer_y", G_TYPE_DOUBLE, y, nullptr);
    gst_harness_push_upstream_event (tracking, gst_event_new_navigation (structure));
  };
  const auto picture = scene.with (kFirst);
  fail_unless (tracking.follow (picture).empty ());
  // from the lower right to the upper left
  mouse ("mouse-button-press", kFirst.x + kFirst.width, kFirst.y + kFirst.height);
  mouse ("mouse-button-release", kFirst.x, kFirst.y);
  expect_at (tracking.follow (picture), 0, kFirst, 1);
  mouse ("mouse-button-press", 2, 2);  // a click next to the target
  mouse ("mouse-button-release", 3, 2);
  expect_at (tracking.follow (picture), 0, kFirst, 2);
  mouse ("mouse-button-press", kFirst.x + 9, kFirst.y + 9);
  mouse ("mouse-button-release", kFirst.x + 9, kFirst.y + 10);
  fail_unless (tracking.follow (picture).empty ());
}

/// Caps change in mid-track, to another size and other bins.
TEST (caps_change)
{
  const Scene small (160, 120), large (320, 240, 2);
  Tracking tracking ("targets=" + text_of (way (0)),
                     "cudaintegralhist name=producer bins=16 backend=cpu");
  for (int frame = 0; frame < 36; frame++) {
    const bool doubled = frame >= 12 && frame < 24;
    const Scene &scene = doubled ? large : small;
    if (frame % 12 == 0)
      tracking.set_caps (scene.width, scene.height);
    Place place = way (frame);
    if (doubled)
      place = { place.x * 2, place.y * 2, place.width * 2, place.height * 2 };
    const auto tracks = tracking.follow (scene.with (place));
    fail_unless (tracks.size () == 1 && tracks[0].id == 1);
    expect_at (tracks, 0, place, frame);
  }
}

/// After a seek the targets start again as configured, the others are gone.
TEST (seek)
{
  const Scene scene (160, 120);
  Tracking tracking (scene, "targets=" + text_of (kFirst));
  for (int frame = 0; frame < 20; frame++)
    tracking.follow (scene.with (way (frame)), [&] (GstBuffer *buffer) {
      if (frame == 3)
        add_detection (buffer, "face", { 120, 90, 20, 20 }, -1);
    });
  tracking.flush ();
  for (int frame = 0; frame < 20; frame++) {
    const auto tracks = tracking.follow (scene.with (way (frame)));
    fail_unless_equals_int (tracks.size (), 1);
    expect_at (tracks, 0, way (frame), frame);
  }
}

/// A segment that goes on is no seek; one that jumps is, without a flush, too. Streams that have no
/// time are tracked as others.
TEST (segments)
{
  const Scene scene (160, 120);
  const auto picture = scene.with (kFirst);
  Tracking tracking (scene, "targets=" + text_of (kFirst));
  for (int frame = 0; frame < 10; frame++)
    tracking.follow (picture);
  GstSegment segment;
  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.start = segment.time = segment.position = 400 * GST_MSECOND;
  gst_harness_push_event (tracking, gst_event_new_segment (&segment));
  fail_unless_equals_int (tracking.follow (picture)[0].id, 1);
  segment.time = 60 * GST_SECOND;
  gst_harness_push_event (tracking, gst_event_new_segment (&segment));
  fail_unless_equals_int (tracking.follow (picture)[0].id, 2);
  gst_segment_init (&segment, GST_FORMAT_BYTES);
  gst_harness_push_event (tracking, gst_event_new_segment (&segment));
  expect_at (tracking.follow (picture), 0, kFirst, 12);
}

TEST (changed_while_playing)
{
  const Scene scene (160, 120);
  Tracking tracking (scene, "targets=" + text_of (kFirst));
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

/// Every other frame has no histogram.
TEST (interval)
{
  const Scene scene (160, 120);
  Tracking tracking (scene, "targets=" + text_of (kFirst),
                     "cudaintegralhist bins=16 backend=cpu interval=2");
  for (int frame = 0; frame < 20; frame++) {
    const auto tracks = tracking.follow (scene.with (way (frame / 2)));
    if (frame % 2 == 0)
      expect_at (tracks, 0, way (frame / 2), frame);
    else
      fail_unless (tracks.empty ());
  }
}

/// The first frames with a histogram do not arrive.
TEST (lost_frames)
{
  check_lost ("integralhisttrack method=fragments targets=8,8,12,12");
}

TEST (no_histograms)
{
  check_none ("integralhisttrack method=fragments targets=8,8,12,12");
}

static const struct {
  const char *properties, *producer, *error;
} kErrors[] = {
  { "targets=1,1,5,5", "", "put cudaintegralhist before" },
  { "targets=160,10,20,20", "cudaintegralhist backend=cpu",
    "160,10,20,20 lies outside of the 160x120 frame" },
  { "targets=-20,10,20,20", "cudaintegralhist backend=cpu", "lies outside of the 160x120 frame" },
  { "targets=1,1,5,5", "cudaintegralimage backend=cpu", "put cudaintegralhist before" },
};

TEST_EACH (errors, std::size (kErrors))
{
  const auto &[properties, producer, wanted] = kErrors[__i__];
  const Scene scene (160, 120);
  Tracking tracking (scene, properties, producer);
  fail_unless (!tracking.push (scene.background ()));
  expect_parts (tracking.error (), { wanted });
  expect_none (tracking.error (), "more than one error");
}

/// An area in which no target can stay is one warning for each value, also after a flush.
TEST (area)
{
  const Scene scene (160, 120);
  Tracking tracking (scene, "method=fragments targets=1,1,5,5", "cudaintegralhist backend=cpu");
  g_autoptr (GstElement) track = gst_bin_get_by_name (GST_BIN (tracking.get ()->element), "track");
  const auto said = [&] (const char *area) {
    if (area)
      g_object_set (track, "area", area, nullptr);
    for (int frame = 0; frame < 3; frame++)
      (void) tracking.follow (scene.background ());
    return tracking.take_warnings ();
  };
  expect_none (said (nullptr));
  const std::string outside = said ("0,120,20,20;-9,0,9,9"), other = said ("80,0,80,120");
  fail_unless (
      outside.starts_with ("area=\"0,120,20,20;-9,0,9,9\" lies outside of the 160x120 frame")
          && std::ranges::count (outside, '\n') == 1,
      "%s", outside.c_str ());
  expect_one (other, { "the middle of 1,1,5,5 lies outside of area=\"80,0,80,120\"" });
  tracking.flush ();
  fail_unless (said (nullptr).empty () && said ("").empty ());
}

TEST (bad_settings)
{
  const char *const cases[][2] = {
    { "targets=1,2,3", "targets=\"1,2,3\": a number is missing at the end" },
    { "quantile=7", "quantile=7 is out of range: set it to 0 to 1" },
    { "search-range=0", "search-range=0 is out of range: set it to 1 to 256" },
    { "strips=99", "strips=99 is out of range" },
    { "strips=-4", "strips=4294967292, or -4, is out of range" },
    { "measure=linear", "set another measure, such as bhattacharyya" },
    { "targets=1,1,0,4", "is empty" },
    { "area=1,2,3", "area=\"1,2,3\": a number is missing at the end" }
  };
  for (const auto &[setting, wanted] : cases) {
    g_autoptr (GstElement) track =
        gst_parse_launch ((std::string ("integralhisttrack ") + setting).c_str (), nullptr);
    expect_parts (settings_error (track), { wanted }, setting);
  }
}

/// Boxes partly outside, of one pixel, and as large as the frame: nothing is read that is not
/// there, and the box stays inside.
TEST (odd_boxes)
{
  const Scene scene (64, 48);
  const Place places[] = { { -10, -10, 30, 30 }, { 50, 40, 100, 100 }, { 63, 47, 1, 1 },
                           { 0, 0, 64, 48 },     { 10, 10, 1, 30 },    { 5, 20, 50, 1 } };
  std::string all;
  for (const Place &place : places)
    all += text_of (place) + ";";
  Tracking tracking (scene,
                     "scale-search=true update-rate=0.2 lost-after=2 targets=\"" + all + "\"");
  for (int frame = 0; frame < 30; frame++) {
    auto picture = frame % 7 == 6 ? std::vector<guint8> (64 * 48, 3) : scene.background ();
    scene.draw (picture, { frame * 2, frame, 20, 20 }, frame);
    for (const Seen &track : tracking.follow (picture))
      fail_unless (track.box.x >= 0 && track.box.y >= 0 && track.box.width >= 1
                       && track.box.height >= 1 && track.box.x + track.box.width <= 64
                       && track.box.y + track.box.height <= 48,
                   "frame %d: track %u at %s", frame, track.id, text_of (track.box).c_str ());
  }
}
