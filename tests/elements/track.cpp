// SPDX-License-Identifier: LGPL-2.1-or-later
//
// integralhisttrack follows a textured target over a textured background. It moves, is hidden,
// jumps, and comes back, and the truth is known.
#include "tracking.hpp"
#include "test.hpp"

TEST_EACH (follows, 7)
{
  const char *const settings[] = { "",
                                   "measure=emd",
                                   "measure=chi-square-alt quantile=0.25",
                                   "measure=intersection",
                                   "measure=correlation",
                                   "update-rate=0.1",
                                   "strips=5" };
  const Scene scene (160, 120);
  Tracking tracking (scene, std::string (settings[__i__]) + " targets=" + text_of (way (0)));
  for (int frame = 0; frame < 39; frame++) {
    const auto tracks = tracking.follow (scene.with (way (frame)));
    expect_at (tracks, 0, way (frame), frame);
    fail_unless (tracks.size () == 1 && tracks[0].id == 1 && tracks[0].parent == -1
                 && !tracks[0].lost);
    fail_unless (tracks[0].confidence > 0.3 && tracks[0].confidence <= 1, "confidence %g",
                 tracks[0].confidence);
  }
}

/// A quarter of the target is hidden all the time.
TEST (partly_hidden)
{
  const Scene scene (160, 120);
  Tracking tracking (scene, "targets=" + text_of (way (0)));
  for (int frame = 0; frame < 39; frame++) {
    Place place = way (frame);
    auto picture = scene.with (place);
    place.height /= 4;
    if (frame > 5)
      scene.draw (picture, place, 99);
    expect_at (tracking.follow (picture), 0, way (frame), frame);
  }
}

TEST (several_targets)
{
  const Scene scene (200, 140);
  const Place firsts[] = { { 36, 10, 24, 32 }, { 125, 12, 30, 20 }, { 80, 60, 16, 40 } };
  Tracking tracking (scene, "targets=\"" + text_of (way (0, firsts[0])) + ";"
                                + text_of (way (0, firsts[1])) + ";" + text_of (way (0, firsts[2]))
                                + "\"");
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

/// A hidden target is reported as lost, at its last place, and is found when it comes back.
TEST (lost_and_found)
{
  const Scene scene (320, 240);
  Tracking tracking (scene, "lost-after=3 targets=" + text_of (kFirst));
  const auto frame = [&] (const Place *place) {
    return tracking.follow (place ? scene.with (*place) : scene.background ());
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

/// A model follows a target that changes slowly, and does not learn what hides the target.
TEST (update)
{
  const Scene scene (160, 120);
  const auto run = [&] (const char *settings,
                        const std::function<void (std::vector<guint8> &, int)> &draw, int frames) {
    Tracking tracking (scene, std::string (settings) + " targets=" + text_of (kFirst));
    std::vector<Seen> tracks;
    for (int frame = 0; frame < frames; frame++) {
      auto picture = scene.background ();
      draw (picture, frame);
      tracks = tracking.follow (picture);
    }
    return tracks[0];
  };

  // the target changes from one texture to another, while the old texture comes to rest next to it
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
  const Seen updated = run ("lost-after=0 update-rate=0.3", change, 62),
             kept = run ("lost-after=0", change, 62);
  expect_at ({ updated }, 0, end, 61);
  fail_unless (updated.confidence > kept.confidence + 0.2, "%g, and %g without", updated.confidence,
               kept.confidence);

  // the target is hidden by a thing that then stays, while the target goes on
  const auto hide = [&] (std::vector<guint8> &picture, int frame) {
    if (frame < 15 || frame > 25)
      scene.draw (picture, frame < 15 ? kFirst : end, 7);
    else
      scene.draw (picture, { kFirst.x - 8, kFirst.y - 8, kFirst.width + 16, kFirst.height + 16 },
                  99);
  };
  expect_at ({ run ("lost-after=0 update-rate=0.5", hide, 32) }, 0, end, 31);
}

/// min-confidence sets the confidence that a frame must have.
TEST (min_confidence)
{
  const Scene scene (160, 120);
  for (const bool strict : { false, true }) {
    Tracking tracking (scene, std::string ("lost-after=3 min-confidence=") + (strict ? "1" : "0.06")
                                  + " targets=" + text_of (way (0)));
    bool lost = false;
    std::mt19937 random (4);
    for (int frame = 0; frame < 25; frame++) {
      auto picture = scene.with (way (frame));
      for (auto &pixel : picture)  // so that no position is perfect
        pixel = guint8 (std::min<unsigned> (255, pixel + random () % 20));
      lost = lost || tracking.follow (picture)[0].lost;
    }
    fail_unless (lost == strict);
  }
}

/// Without the rule for lost targets a hidden target drifts.
TEST (never_lost)
{
  const Scene scene (160, 120);
  Tracking tracking (scene, "lost-after=0 targets=" + text_of (kFirst));
  const auto picture = scene.with (kFirst);
  for (int i = 0; i < 8; i++)
    tracking.follow (picture);
  for (int i = 0; i < 20; i++)
    fail_unless (!tracking.follow (scene.background ())[0].lost);
}

/// If nothing in the picture can be told apart, no target moves or is lost, however a box's patches
/// are rounded.
TEST (even_picture)
{
  const Place places[] = { { 50, 40, 20, 20 },    { 0, 0, 320, 240 },  { 100, 20, 44, 190 },
                           { 100, 20, 165, 164 }, { 100, 50, 41, 82 }, { 0, 0, 30, 30 },
                           { 290, 210, 30, 30 } };
  const Scene scene (320, 240);
  std::string all;
  for (const Place &place : places)
    all += text_of (place) + ";";
  for (const char *measure : { "bhattacharyya", "emd", "intersection", "chi-square-alt" }) {
    Tracking tracking (scene, std::string ("measure=") + measure + " targets=\"" + all + "\"");
    for (int i = 0; i < 25; i++) {
      const auto tracks = tracking.follow (std::vector<guint8> (320 * 240, 80));
      for (std::size_t t = 0; t < tracks.size (); t++)
        fail_unless (tracks[t].box == places[t] && !tracks[t].lost, "%s, frame %d: %s is at %s%s",
                     measure, i, text_of (places[t]).c_str (), text_of (tracks[t].box).c_str (),
                     tracks[t].lost ? ", lost" : "");
    }
  }
}

/// If a target can be nowhere else, it is not lost as long as it looks as it did.
TEST (large_boxes)
{
  const Scene scene (160, 120);
  Tracking tracking (scene,
                     "targets=0,0,160,120;1,1,158,118;0,0,154,114;5,3,1000000000,2147483647");
  std::mt19937 random (3);
  for (int frame = 0; frame < 40; frame++) {
    auto picture = scene.background ();
    for (auto &pixel : picture)
      pixel = guint8 (pixel + random () % 5);
    const auto tracks = tracking.follow (picture);
    for (const Seen &track : tracks)
      fail_unless (!track.lost, "frame %d: target %u is lost", frame, track.id);
    fail_unless (tracks[3].box == (Place{ 5, 3, 155, 117 }), "%s",
                 text_of (tracks[3].box).c_str ());
  }
}

TEST (scale_search)
{
  const Scene scene (200, 160);
  Tracking tracking (scene, "scale-search=true targets=60,40,40,48");
  std::mt19937 random (5);
  double size = 1;
  std::vector<Seen> tracks;
  for (int frame = 0; frame < 60; frame++, size *= 1.008) {
    auto picture = scene.background ();
    // one texture, larger and larger
    std::mt19937 texture (3);
    guint8 squares[10][12];
    for (auto &row : squares)
      for (auto &square : row)
        square = guint8 (90 + texture () % 165);
    for (int y = 0; y < int (48 * size); y++)
      for (int x = 0; x < int (40 * size); x++)
        picture[(40 + y) * 200 + 60 + x] =
            squares[std::min (9, int (x / size / 4))][std::min (11, int (y / size / 4))];
    tracks = tracking.follow (picture);
  }
  const double wanted = 40 * size;
  fail_unless (tracks[0].box.width > 0.85 * wanted && tracks[0].box.width < 1.15 * wanted,
               "%d wide, must be %g", tracks[0].box.width, wanted);
}

/// The track is the same, to the last digit of the confidence, on every device, with every type of
/// counter, and in a second run.
TEST (devices_agree)
{
  const Scene scene (320, 240);
  std::vector<std::vector<guint8>> pictures (30, scene.background ());
  for (int frame = 0; frame < 30; frame++) {
    if (frame < 10 || frame > 17)  // hidden for long enough to be lost
      scene.draw (pictures[frame], way (frame), 7);
    scene.draw (pictures[frame], way (frame, { 150, 60, 60, 50 }), frame < 22 ? 8 : 9);
  }
  const auto run = [&] (const std::string &producer) {
    std::vector<Seen> all;
    Tracking tracking (
        scene, "lost-after=3 update-rate=0.05 scale-search=true targets=40,30,24,32;150,60,60,50",
        "cudaintegralhist bins=16 " + producer);
    for (const auto &picture : pictures)
      std::ranges::copy (tracking.follow (picture), std::back_inserter (all));
    return all;
  };
  const auto wanted = run ("backend=cpu");
  fail_unless (std::ranges::any_of (wanted, &Seen::lost) && !wanted[58].lost && !wanted[59].lost
               && wanted.size () == 60);
  const bool cuda = have ("cuda");
  for (const std::string backend : kBackends)
    for (const std::string counter : { "u32", "u16", "u8-tiled" })
      if (backend == "cpu" || cuda)
        fail_unless (run ("backend=" + backend + " counter=" + counter) == wanted,
                     "%s, %s: another track", backend.c_str (), counter.c_str ());
}
