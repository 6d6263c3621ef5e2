// SPDX-License-Identifier: LGPL-2.1-or-later
//
// integralhisttrack behind a detector that looks at some frames, misses some targets there, gives
// others twice, and is not exact: by both methods a target has one id.
#include "walk.hpp"

#include <gst/video/navigation.h>

#include "test.hpp"  // last: it has macros with names of the standard library

/// A detector of every fourth frame misses a third of them, and is not exact.
TEST_EACH (one_id_over_misses, 2)
{
  Walk walk (__i__, "");
  std::mt19937 random (5);
  for (int frame = 0; frame < 40; frame++) {
    const Place place = way (frame);
    const auto off = [&] (int side) { return int (random () % 3 * side / 40) - side / 40; };
    const Place found = { place.x + off (place.width), place.y + off (place.height), place.width,
                          place.height };
    const bool looks = frame % 4 == 0 && frame % 12 != 8;
    const auto tracks = walk.with ({ place }, { { found } }, looks);
    fail_unless (tracks.size () == 1 && tracks[0].id == 1 && !tracks[0].lost, "frame %d", frame);
    fail_unless (overlap (tracks[0].box, place) > 0.6, "frame %d: %s, must be %s", frame,
                 text_of (tracks[0].box).c_str (), text_of (place).c_str ());
    if (looks)  // between there and where it is expected
      fail_unless (overlap (tracks[0].box, found) > 0.8, "frame %d: not at the detection", frame);
  }
}

/// With a detector that is off by some pixels in each frame, the track is nearer to the target than
/// the detector's boxes are.
TEST_EACH (nearer_than_the_detector, 2)
{
  Walk walk (__i__, "");
  std::mt19937 random (3);
  double of_boxes = 0, of_tracks = 0;
  const auto off_by = [] (const Place &a, const Place &b) {
    return std::hypot (a.x + a.width / 2.0 - b.x - b.width / 2.0,
                       a.y + a.height / 2.0 - b.y - b.height / 2.0);
  };
  for (int frame = 0; frame < 60; frame++) {
    const Place place = { 30 + 2 * frame, 40 + frame / 2, 30, 60 };
    const auto off = [&] { return int (random () % 15) - 7; };
    const Place found = { place.x + off (), place.y + off (), place.width, place.height };
    const auto tracks = walk.with ({ place }, { { found } });
    fail_unless (tracks.size () == 1 && tracks[0].id == 1 && !tracks[0].lost, "frame %d", frame);
    if (frame >= 10) {
      of_boxes += off_by (found, place);
      of_tracks += off_by (tracks[0].box, place);
    }
  }
  fail_unless (of_tracks < 0.9 * of_boxes, "%g, boxes %g", of_tracks, of_boxes);
}

/// The light goes out between two looks of the detector: a target goes on as it moved.
TEST_EACH (unseen_between_looks, 2)
{
  Walk walk (__i__, "");
  for (int frame = 0; frame < 60; frame++) {
    const Place place = { 20 + 3 * frame, 60, 24, 32 };
    auto picture = walk.scene.with (place);
    if (frame > 48 && frame < 54)
      std::ranges::fill (picture, 0);
    const auto tracks = walk.tracking.follow (
        picture, detected (frame % 6 ? std::vector<Found> () : std::vector<Found>{ { place } }));
    fail_unless (tracks.size () == 1 && tracks[0].id == 1 && !tracks[0].lost, "frame %d", frame);
    fail_unless (overlap (tracks[0].box, place) > 0.6, "frame %d: %s, must be %s", frame,
                 text_of (tracks[0].box).c_str (), text_of (place).c_str ());
  }
}

/// A target that the detector does not see any more is lost after so many of its frames, not of
/// all; and when it comes back nearby it has its id again.
TEST_EACH (lost_and_back, 2)
{
  Walk walk (__i__, "max-misses=3 lost-after=0");
  const Place at = kFirst, back = { at.x + 20, at.y + 8, at.width, at.height };
  for (int frame = 0; frame < 20; frame++) {
    const auto tracks = walk.with ({ at, kOther }, { { at }, { kOther } }, frame % 5 == 0);
    fail_unless_equals_int (tracks.size (), 2);
  }
  int until_lost = 0;
  for (; until_lost < 30; until_lost++) {
    const auto tracks = walk.with ({ at, kOther }, { { kOther } }, until_lost % 5 == 0);
    fail_unless (tracks.size () == 2 && !tracks[1].lost);
    if (tracks[0].lost)
      break;
  }
  fail_unless (until_lost == 10, "lost after %d frames", until_lost);
  for (int frame = 0; frame < 12; frame++)  // it does not come back by itself
    fail_unless (walk.with ({ at, kOther })[0].lost);
  const auto tracks = walk.with ({ back, kOther }, { { back }, { kOther } });
  fail_unless (tracks.size () == 2 && !tracks[0].lost && tracks[0].id == 1 && tracks[1].id == 2,
               "%zu tracks", tracks.size ());
  fail_unless (overlap (tracks[0].box, back) > 0.95);
}

/// A detector that becomes slower, at once and by much, loses nothing, also one that is lost soon.
TEST_EACH (slower_detector, 2)
{
  Walk walk (__i__, "max-misses=2");
  int next = 0;
  for (int frame = 0; frame < 100; frame++) {
    const bool looks = frame == next;
    const Place place = { way (frame).x, 60, kFirst.width, kFirst.height };
    next += !looks ? 0 : frame < 40 ? 4 : 12;
    const auto tracks = walk.with ({ place }, { { place } }, looks);
    fail_unless (tracks.size () == 1 && tracks[0].id == 1 && !tracks[0].lost, "frame %d", frame);
  }
}

/// No target is left where the detector, which looks at every third frame, finds nothing any more.
TEST_EACH (no_ghost, 2)
{
  Walk walk (__i__, "lost-after=0");
  for (int frame = 0; frame < 15; frame++)
    walk.with ({ kFirst }, { { kFirst } }, frame % 3 == 0);
  std::vector<Seen> tracks;
  for (int frame = 0; frame < 20; frame++)
    tracks = walk.with ({ kFirst });
  fail_unless (visible (tracks).empty ());
}

/// A lost target is looked for once the detector has gone, unless its silence has ended the target.
TEST_EACH (detector_gone, 2)
{
  for (const bool ends : { false, true }) {
    Walk walk (__i__, std::string ("forget-after=0 lost-after=3 ")
                          + (ends ? "max-misses=5" : "max-misses=0"));
    for (int frame = 0; frame < 15; frame++)
      walk.with ({ kFirst }, { { kFirst } }, frame % 3 == 0);
    std::vector<Seen> tracks;
    for (int frame = 0; frame < 15; frame++)
      tracks = walk.with ({});
    fail_unless (tracks.size () == 1 && tracks[0].lost);
    for (int frame = 15; frame < 45; frame++)  // the detector may go on
      fail_unless (walk.with ({ kFirst })[0].lost);
    for (int frame = 45; frame < 90; frame++)
      tracks = walk.with ({ kFirst });
    fail_unless (tracks.size () == 1 && tracks[0].id == 1 && tracks[0].lost == ends);
    fail_unless (ends || overlap (tracks[0].box, kFirst) > 0.8);
  }
}

/// A target that no detection has found is not lost for lack of detections.
TEST_EACH (configured_without_detections, 2)
{
  Walk walk (__i__, "max-misses=2 targets=" + text_of (kFirst));
  for (int frame = 0; frame < 20; frame++)
    fail_unless_equals_int (visible (walk.with ({ kFirst, kOther }, { { kOther } })).size (), 2);
}

/// A detector gives most objects twice.
TEST_EACH (duplicates, 2)
{
  Walk walk (__i__, "");
  for (int frame = 0; frame < 24; frame++) {
    const Place place = way (frame),
                again = { place.x + 1, place.y - 1, place.width, place.height };
    std::vector<Found> found;
    if (frame % 3 == 0)
      found = { { place }, { again, frame % 2 ? "thing" : "other" } };
    const auto tracks = walk.with ({ place }, found);
    fail_unless (tracks.size () == 1 && tracks[0].id == 1, "frame %d: %zu tracks", frame,
                 tracks.size ());
  }
}

/// Two targets come to one spot, of which the detector sees one: one is left, with the older id.
TEST_EACH (one_spot, 2)
{
  Walk walk (__i__, "lost-after=0 max-misses=0");
  const Place left = { 40, 60, 30, 40 };
  walk.with ({ left, kOther }, { { left }, { kOther } });
  std::vector<Seen> tracks;
  for (int frame = 1; frame < 45; frame++) {
    // the second walks in front of the first, and stays there
    const Place right = { std::max (left.x, kOther.x - 4 * frame), left.y, 30, 40 };
    tracks = walk.with ({ left, right }, { { right } }, frame % 4 == 0);
  }
  fail_unless_equals_int (visible (tracks).size (), 1);
}

/// Without a detector the hidden one of two targets that come to one spot is lost while they are
/// there, and neither is before or behind.
TEST_EACH (one_spot_alone, 2)
{
  const Place still = { 100, 60, 30, 40 };
  // it passes so slowly that they are on one spot for more than five frames, and so soon that
  // neither tracker takes the one for the other
  const auto passing = [&] (int frame) { return Place{ 40 + 2 * frame, still.y + 4, 30, 40 }; };
  for (const bool passes_behind : { false, true }) {
    const std::string targets = text_of (still) + ";" + text_of (passing (0));
    Walk walk (__i__, "lost-after=0 targets=\"" + targets + "\"");
    int alone = 0, shared = 0, n_visible = 0;
    for (int frame = 0; frame < 60; frame++) {
      auto picture = walk.scene.background ();
      if (passes_behind)
        walk.scene.draw (picture, passing (frame), 8);
      walk.scene.draw (picture, still, 7);
      if (!passes_behind)
        walk.scene.draw (picture, passing (frame), 8);
      const auto tracks = walk.tracking.follow (picture);
      fail_unless_equals_int (tracks.size (), 2);
      n_visible = int (visible (tracks).size ());
      shared = overlap (tracks[0].box, tracks[1].box) > 0.55 ? shared + 1 : 0;
      for (const Seen &track : tracks)
        if (track.lost) {
          fail_unless (track.id == (passes_behind ? 2 : 1), "frame %d: %u", frame, track.id);
          fail_unless (track.confidence == 0 && (alone > 0 || shared >= 4));
          alone++;
        }
    }
    fail_unless (alone > 0 && alone < 15, "%d frames", alone);
    fail_unless_equals_int (n_visible, 2);
  }

  // who names a spot twice has two targets there
  Walk twice (__i__, "lost-after=0 targets=\"" + text_of (still) + ";102,61,30,40\"");
  for (int frame = 1; frame < 20; frame++)
    fail_unless_equals_int (int (visible (twice.with ({ still })).size ()), 2);
}

/// A target that the detector sees does not yield to another one.
TEST_EACH (one_spot_named, 2)
{
  const Place left = { 100, 60, 30, 40 };
  Walk walk (__i__, "lost-after=0 max-misses=0 targets=\"" + text_of (left) + ";140,60,30,40\"");
  for (int frame = 0; frame < 40; frame++) {
    const Place right = { std::max (left.x + 4, 140 - 2 * frame), left.y, 30, 40 };
    const auto tracks = walk.with ({ left, right }, { { left }, { right } }, frame > 0);
    fail_unless_equals_int (int (visible (tracks).size ()), int (tracks.size ()));
  }
}

TEST_EACH (area, 2)
{
  Walk walk (__i__, "area=0,0,120,160;200,0,40,40");
  auto tracks = walk.with ({ kFirst, kOther }, { { kFirst }, { kOther }, { { 210, 10, 20, 20 } } });
  fail_unless (tracks.size () == 2 && tracks[0].box == kFirst && tracks[1].box.x == 210);
  Place place = kFirst;
  for (; place.x + place.width / 2 < 112; place.x += 3) {
    tracks = walk.with ({ place });
    fail_unless (!tracks.empty () && tracks[0].id == 1, "gone at %d", place.x);
  }
  for (int frame = 0; frame < 8; frame++, place.x += 3)
    tracks = walk.with ({ place });
  fail_unless (std::ranges::count (tracks, 1u, &Seen::id) == 0);
  walk.tracking.set ("area", "");  // the whole frame again
  fail_unless_equals_int (visible (walk.with ({ kFirst, kOther }, { { kOther } })).back ().box.x,
                          kOther.x);
}

/// Detections of each frame: a box that grows is followed in its size, too.
TEST_EACH (size_of_the_detection, 2)
{
  Walk walk (__i__, "");
  for (int frame = 0; frame < 25; frame++) {
    const Place place = { 40 + frame, 30, 20 + 2 * frame, 24 + 2 * frame };
    const auto tracks = walk.with ({ place }, { { place } });
    fail_unless (tracks.size () == 1 && tracks[0].id == 1 && overlap (tracks[0].box, place) > 0.75,
                 "frame %d: %s", frame, text_of (tracks[0].box).c_str ());
  }
}

/// Frames become twice as large, and with the first of them come detections, or a click: both are
/// of the targets there.
TEST_EACH (frame_size, 2)
{
  const Scene large (480, 320, 2);
  const auto twice = [] (const Place &its) {
    return Place{ its.x * 2, its.y * 2, its.width * 2, its.height * 2 };
  };
  for (const bool clicks : { false, true }) {
    Walk walk (__i__, "");
    for (int frame = 0; frame < 6; frame++)
      walk.with ({ kFirst, kOther }, { { kFirst }, { kOther } });
    walk.tracking.set_caps (large.width, large.height);
    auto picture = large.background ();
    large.draw (picture, twice (kFirst), 7);
    large.draw (picture, twice (kOther), 8);
    std::vector<Found> found = { { twice (kFirst) }, { twice (kOther) } };
    if (clicks) {
      found.clear ();
      const double x = 2 * kOther.x + kOther.width, y = 2 * kOther.y + kOther.height;
      for (const char *event : { "mouse-button-press", "mouse-button-release" })
        gst_harness_push_upstream_event (
            walk.tracking,
            gst_event_new_navigation (gst_structure_new (
                "application/x-gst-navigation", "event", G_TYPE_STRING, event, "button", G_TYPE_INT,
                1, "pointer_x", G_TYPE_DOUBLE, x, "pointer_y", G_TYPE_DOUBLE, y, nullptr)));
    }
    const auto tracks = walk.tracking.follow (picture, detected (found));
    fail_unless (tracks.size () == (clicks ? 1 : 2), "%zu tracks", tracks.size ());
    fail_unless (tracks[0].id == 1 && overlap (tracks[0].box, twice (kFirst)) > 0.9);
    fail_unless (clicks || (tracks[1].id == 2 && overlap (tracks[1].box, twice (kOther)) > 0.9));
  }
}

/// A target that comes back has its id for so many seconds, here one.
TEST_EACH (remembered, 2)
{
  for (const int away : { 15, 40 }) {  // frames, 25 a second
    Walk walk (__i__, "remember=1");
    const Place back = { kFirst.x + 10, kFirst.y + 4, kFirst.width, kFirst.height };
    for (int frame = 0; frame < 12; frame++)
      walk.with ({ kFirst, kOther }, { { kFirst }, { kOther } });
    for (int frame = 0; frame < away; frame++)
      fail_unless_equals_int (visible (walk.with ({ {}, kOther }, { { kOther } })).back ().id, 2);
    std::vector<Seen> tracks;
    for (int frame = 0; frame < 3; frame++)
      tracks = visible (walk.with ({ back, kOther }, { { back }, { kOther } }));
    fail_unless_equals_int (tracks.size (), 2);
    fail_unless_equals_int (std::ranges::count (tracks, 1u, &Seen::id), away < 25);
  }
}

/// A target comes back far from where it was, half hidden, and is a new one at first. After some
/// views it has its old id, if the tracker may change ids. A stranger at the same place keeps
/// another one.
TEST_EACH (reidentified, 2)
{
  struct Person {
    Place at;
    int hair, coat;  // brightness
  };
  constexpr Place kNear = { 190, 10, 24, 48 }, kFar = { 20, 90, 24, 48 };
  const Person other = { { 110, 60, 24, 48 }, 240, 240 }, gone = { kNear, 130, 220 },
               stranger = { kFar, 220, 130 }, hidden = { kFar, 130, 60 }, back = { kFar, 130, 220 };
  using Ids = std::vector<std::pair<guint, guint>>;  // with former ones
  for (const char *settings : { "", "reidentify=true", "reidentify=true merge-classes=true" }) {
    const bool reidentifies = *settings, merges = strstr (settings, "merge") != nullptr;
    Walk walk (__i__, settings);
    std::mt19937 random (1);
    const auto ids_of = [&] (const std::vector<Person> &people, int frames) {
      Ids ids;
      for (int frame = 0; frame < frames; frame++) {
        auto picture = walk.scene.background ();
        std::vector<Found> found;
        for (const auto &[at, hair, coat] : people) {
          found.push_back ({ at, merges && at.x == kFar.x ? "truck" : "car" });
          for (int y = 0; y < at.height; y++)
            for (int x = 0; x < at.width; x++)
              picture[std::size_t (at.y + y) * walk.scene.width + at.x + x] =
                  guint8 ((y < at.height / 2 ? hair : coat) - 15 + int (random () % 31));
        }
        ids.clear ();
        for (const Seen &track : visible (walk.tracking.follow (picture, detected (found))))
          ids.emplace_back (track.id, track.former_id);
      }
      return ids;
    };
    fail_unless (ids_of ({ gone, other }, 12) == (Ids{ { 1, 0 }, { 2, 0 } }));
    fail_unless (ids_of ({ other }, 100) == (Ids{ { 2, 0 } }));
    fail_unless (ids_of ({ stranger, other }, 12) == (Ids{ { 2, 0 }, { 3, 0 } }));
    fail_unless (ids_of ({ other }, 100) == (Ids{ { 2, 0 } }));
    const Ids at_first = ids_of ({ hidden, other }, 2), later = ids_of ({ back, other }, 12);
    fail_unless (at_first == (Ids{ { 2, 0 }, { 4, 0 } }), "%u", at_first.back ().first);
    fail_unless (reidentifies ? later == (Ids{ { 2, 0 }, { 1, 4 } }) : later == at_first,
                 "%u, before %u", later.back ().first, later.back ().second);
  }
}

/// The camera jerks. At the same time a sixth target, which looks like the first of five, comes in
/// at the old place of the first. Each has its id.
TEST_EACH (camera_motion, 2)
{
  Walk walk (__i__, "");
  std::vector<Seen> tracks;
  for (int frame = 0; frame < 24; frame++) {
    auto picture = walk.scene.background ();
    std::vector<Found> found;
    const auto add = [&] (const Place &its, unsigned seed) {
      walk.scene.draw (picture, its, seed);
      found.push_back ({ its, "thing", 0.95 });
    };
    if (frame >= 12)
      add ({ 20, 60, 20, 40 }, 7);
    for (int i = 0; i < 5; i++)
      add ({ 20 + 40 * i + (frame < 12 ? 0 : 12), 60, 20, 40 }, 7 + unsigned (i));
    tracks = visible (walk.tracking.follow (picture, detected (found)));
  }
  fail_unless_equals_int (tracks.size (), 6);
  for (int i = 0; i < 6; i++)
    fail_unless (tracks[i].id == guint (i) + 1
                     && std::abs (tracks[i].box.x - (i < 5 ? 32 + 40 * i : 20)) <= 2,
                 "target %u at %d", tracks[i].id, tracks[i].box.x);
}

/// A target is lost in frames that are too small for a pixel of it, and else lies in the frame.
TEST_EACH (no_pixel, 2)
{
  int lost = 0;
  for (const auto &[width, height] : { std::pair (20, 15), std::pair (64, 9), std::pair (8, 8) }) {
    const Scene large (640, 480), small (width, height);
    Walk walk (__i__, "search-range=1 lost-after=0 "
                      "targets=\"636,200,4,8;300,478,8,2;638,478,2,2;200,100,99,99\"");
    walk.tracking.set_caps (640, 480);
    fail_unless_equals_int (visible (walk.tracking.follow (large.background ())).size (), 4);
    walk.tracking.set_caps (width, height);
    for (int frame = 0; frame < 3; frame++) {
      const auto tracks = walk.tracking.follow (small.background ());
      fail_unless_equals_int (tracks.size (), 4);
      for (const auto &[id, parent, box, confidence, is_lost, former_id] : tracks) {
        lost += is_lost;
        fail_unless (box.width > 0 && box.height > 0 && box.x >= 0 && box.y >= 0
                         && box.x + box.width <= width && box.y + box.height <= height,
                     "%dx%d, frame %d: %s", width, height, frame, text_of (box).c_str ());
        fail_unless (!is_lost || confidence == 0);
      }
    }
  }
  fail_unless (lost > 0);
}

/// A detector of many targets misses some, gives others twice and invents boxes, in each frame at
/// first and in each fourth later: the tracks of a GPU are the CPU's.
TEST_EACH (devices_agree, 2)
{
  if (!have ("cuda"))
    return;
  constexpr int kTargets = 12;
  std::vector<std::vector<Seen>> all[2];
  for (int device = 0; device < 2; device++) {
    std::string line = kMethods[__i__][1];
    for (std::size_t at = 0;
         device == 1 && (at = line.find ("backend=cpu", at)) != std::string::npos;)
      line.replace (at, 11, "backend=cuda");
    const Scene scene (320, 240);
    Tracking tracking (scene, kMethods[__i__][0], line);
    std::mt19937 random (11);
    for (int frame = 0; frame < 80; frame++) {
      auto picture = scene.background ();
      std::vector<Found> found;
      for (int target = 0; target < kTargets; target++) {
        // half of them go right and half left, and cross each other
        const int x = target % 2 == 0 ? 10 + 3 * frame : 280 - 3 * frame;
        const Place place = { x, 10 + 17 * target, 20, 36 };
        scene.draw (picture, place, unsigned (target));
        for (int times = int (random () % 10 == 0) + 1; times > 0 && random () % 5 != 0; times--)
          found.push_back ({ { std::max (0, place.x + int (random () % 5) - 2),
                               place.y + int (random () % 5) - 2, 20, 36 },
                             "thing",
                             0.3 + random () % 7 * 0.1 });
      }
      if (random () % 3 == 0)
        found.push_back (
            { { int (random () % 300), int (random () % 200), 20, 36 }, "thing", 0.4 });
      if (frame >= 40 && frame % 4 != 0)
        found.clear ();
      all[device].push_back (tracking.follow (picture, detected (found)));
    }
  }
  fail_unless (all[0].back ().size () >= kTargets / 2);
  for (std::size_t frame = 0; frame < all[0].size (); frame++)
    fail_unless (all[0][frame] == all[1][frame], "frame %d", int (frame));
}
