// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Streams that come and go, as from a muxer: unannounced, missing in a batch, twice in a row,
// removed and back. No visible detection is dropped, and no id comes back.
#include "repeats.hpp"
#include "scene.hpp"

#include "test.hpp"  // last: it has macros with names of the standard library

using namespace nvtracker;

TEST_TIMEOUT (300);

namespace {

constexpr int kWidth = 64, kHeight = 48;

/// A stream of a sequence.
struct Source {
  guint64 id;
  std::vector<Object> objects;  // that stay where they are
  guint32 number = 0;
};

Source make_source (guint64 id, std::mt19937 &random)
{
  Source source = { id, {} };
  for (int i = 0; i < int (random () % 3); i++)
    source.objects.push_back ({ float (2 + i * 24 + int (random () % 4)),
                                float (2 + int (random () % 8)), 12, 24, guint16 (random () % 3) });
  return source;
}

Nv12Picture picture_of (const Source &source)
{
  Nv12Picture picture (kWidth, kHeight);
  std::ranges::fill (picture.bytes, 128);
  for (const Object &object : source.objects)
    draw (picture, object, unsigned (object.x) * 31 + unsigned (object.y));
  return picture;
}

/// Adds boxes that must not disturb a tracker.
void add_odd_objects (std::vector<Object> &objects, std::mt19937 &random, std::size_t max_targets)
{
  const float huge = 1e30f, nan = std::nanf ("");
  const Object kOdd[] = { { -40, 10, 20, 20 },        { 70, 10, 20, 20 },
                          { 10, 60, 5, 5 },           { -huge, -huge, 2 * huge, 2 * huge },
                          { nan, 3, 4, 5 },           { 3, 4, nan, huge },
                          { 10, 10, 0, 0 },           { 10, 10, -5, 3 },
                          { 50, 40, 30, 30, 9, nan }, { 40, 30, 0.2f, 0.2f, 65535, -0.1f },
                          { 0, 0, 64, 48, 7, 0.05f } };
  if (random () % 8 == 0)
    for (const Object &odd : kOdd)
      if (random () % 2)
        objects.push_back (odd);
  if (random () % 64 == 0)  // nvtracker cuts what is more than max-targets
    while (objects.size () < max_targets + 5)
      objects.push_back (kOdd[random () % std::size (kOdd)]);
}

/// Returns how many objects without an area come before those of a frame.
int n_before (guint32 frame)
{
  return frame % 4 == 3 ? 2 : 0;
}

void run_sequence (unsigned number)
{
  std::mt19937 random (seed () + number);
  static const OptionsFile few ("[integralhisttrack]\nbackend=cpu\nmax-targets=8\n");
  const std::string at = "sequence " + std::to_string (number);
  Nvtracker library ({ .layout = random () % 2 ? Layout::r91 : Layout::r80,
                       .max_streams = 3,
                       .width = kWidth,
                       .height = kHeight,
                       .path = few.path });
  std::vector<Source> sources;
  guint64 next_pad = 0;
  for (int call = 0; call < 3 + int (random () % 5); call++) {
    if (random () % 3 == 0 && !sources.empty ()) {
      const std::size_t which = random () % sources.size ();
      library.remove (sources[which].id);
      if (random () % 2)
        sources.erase (sources.begin () + std::ptrdiff_t (which));
    }
    if (random () % 8 == 0)
      library.remove (random ());  // a stream that never was
    if (sources.size () < 3)
      sources.push_back (
          make_source (random () % 4 ? next_pad++ << 32 : guint64 (random ()) << 16, random));
    std::vector<Nv12Picture> pictures;
    pictures.reserve (sources.size ());
    std::vector<FrameIn> frames;
    for (Source &source : sources)
      if (random () % 4 > 0) {
        pictures.push_back (picture_of (source));
        frames.push_back ({ source.id, source.number, &pictures.back () });
        std::vector<Object> &objects = frames.back ().objects;
        for (int i = 0; i < n_before (source.number); i++)
          objects.push_back ({ 10, 10, std::nanf (""), 5 });
        objects.insert (objects.end (), source.objects.begin (), source.objects.end ());
        add_odd_objects (objects, random, 8);
        source.number += 1 + guint32 (random () % 3);
      }
    const auto tracks = library.process (frames);
    expect_none (library.complaint (), at);
    for (const FrameIn &frame : frames) {
      const auto source = std::ranges::find (sources, frame.stream, &Source::id);
      const std::size_t first = std::size_t (n_before (frame.number));
      for (std::size_t i = first; i < first + source->objects.size (); i++)
        fail_unless (std::ranges::count (tracks.at (frame.stream), int (i), &TrackOut::object) == 1,
                     "%s, call %d: object %zu of stream %" G_GUINT64_FORMAT " is dropped",
                     at.c_str (), call, i, frame.stream);
    }
  }
}

}  // namespace

TEST (come_and_go)
{
  const unsigned n = unsigned (repeats (1000));
  for (unsigned number = 0; number < n; number++)
    run_sequence (number);
  printf ("%u sequences\n", n);
}

/// A target keeps its id, from its first frame on, until its stream is removed.
TEST (ids)
{
  Nvtracker library ({ .path = cpu_options () });
  const MovingScene scene (320, 240, 5, 3);
  std::map<int, guint64> of_target;
  std::set<guint64> all;
  for (const int run : { 0, 1 }) {
    for (int f = 0; f < 20; f++) {
      const Nv12Picture picture = scene.picture (f);
      FrameIn frame = { 3, guint32 (f), &picture };
      for (int target = 0; target < 5; target++) {
        frame.objects.push_back (scene.place (target, f));
        frame.objects.back ().confidence = 0.7f;  // too unsure to be confirmed at once
      }
      for (const TrackOut &track : library.process (frame)) {
        fail_unless (track.object >= 0);
        guint64 &known = of_target[track.object + 100 * run];
        fail_unless (f == 0 || known == track.id, "frame %d", f);
        fail_unless_equals_int (track.age, f + 1);
        known = track.id;
        fail_unless (run == 0 || !all.contains (track.id), "an id comes back");
      }
    }
    for (const auto &[target, id] : of_target)
      all.insert (id);
    library.remove (3);
  }
  expect_none (library.complaint ());
  fail_unless_equals_int (all.size (), 10);
}

/// A muxer may name its streams anew and never remove one. The streams that are absent longest are
/// dropped, and begin anew if they come back; streams of the batch are not dropped.
TEST (many_streams)
{
  for (const int max_streams : { 2, 6 }) {
    const guint64 n_known = std::max (16, 4 * max_streams), n_ids = 200;
    Nvtracker library (
        { .max_streams = max_streams, .width = kWidth, .height = kHeight, .path = cpu_options () });
    const Source source = { 0, { { 4, 4, 12, 24 } } };
    const Nv12Picture picture = picture_of (source);
    std::map<guint64, guint64> id_of;  // of a stream: its target's
    guint32 number = 0;
    const auto is_as_before = [&] (std::vector<guint64> streams) {
      std::vector<FrameIn> frames;
      for (const guint64 stream : streams)
        frames.push_back ({ stream, number, &picture, source.objects });
      number++;
      bool is_known = true;
      for (const auto &[stream, tracks] : library.process (frames)) {
        fail_unless_equals_int (tracks.size (), 1);
        is_known &= id_of[stream] == tracks[0].id;
        id_of[stream] = tracks[0].id;
      }
      return is_known;
    };
    constexpr guint64 kSteady = G_MAXUINT64 - 1;  // in every batch
    for (guint64 stream = 0; stream < n_ids; stream++)
      fail_unless (!is_as_before ({ stream, kSteady }));
    const guint64 steady_id = id_of[kSteady];
    for (guint64 stream = n_ids - (n_known - 1); stream < n_ids; stream++)
      fail_unless (is_as_before ({ stream }), "stream %d", int (stream));
    fail_unless (is_as_before ({ kSteady }));
    // the stream that was dropped last, and then the one that it has displaced
    fail_unless (!is_as_before ({ n_ids - n_known }));
    fail_unless (!is_as_before ({ n_ids - n_known + 1 }));
    fail_unless (is_as_before ({ n_ids - 1, kSteady }));
    fail_unless (id_of[kSteady] == steady_id);
    expect_none (library.complaint ());
  }
}

/// With times, a target that is gone keeps its id for `remember` seconds; without, for so many
/// frames.
TEST_EACH (times, 2)
{
  const OptionsFile options (
      "[integralhisttrack]\nbackend=cpu\nremember=1\nforget-after=100\nmerge-classes=true\n");
  const Object there = { 20, 60, 40, 80, 1 }, other = { 220, 60, 40, 80, 1 };
  for (const int n_gone : { 10, 60 }) {
    Nvtracker library ({ .path = options.path });
    guint64 before = 0, after = 0;
    for (int f = 0; f < 20 + n_gone + 5; f++) {
      const bool is_gone = f >= 20 && f < 20 + n_gone;
      Nv12Picture picture (320, 240);
      std::ranges::fill (picture.bytes, 128);
      draw (picture, other, 9);
      FrameIn frame = { 0, guint32 (f), &picture, { other } };
      if (__i__ == 0)
        frame.time = GstClockTime (f) * GST_SECOND / 25;
      if (!is_gone) {
        draw (picture, there, 5);
        frame.objects.push_back (there);
      }
      for (const TrackOut &track : library.process (frame))
        if (track.object == 1)
          (f < 20 ? before : after) = track.id;
    }
    expect_none (library.complaint ());
    const bool is_forgotten = __i__ == 0 && n_gone == 60;
    fail_unless (before && after && (before != after) == is_forgotten, "%d frames", n_gone);
  }
}

/// If there is room for some of the targets only, the detected ones come first.
TEST (cut)
{
  const OptionsFile options ("[integralhisttrack]\nbackend=cpu\nmax-targets=3\n");
  Nvtracker library ({ .path = options.path });
  const MovingScene scene (320, 240, 6, 3);
  std::size_t n_others = 0;
  for (int f = 0; f < 20; f++) {
    const Nv12Picture picture = scene.picture (f);
    FrameIn frame = { 0, guint32 (f), &picture };
    for (int target = 0; target < 6; target++)
      if (f < 12 ? target < 3 : f % 2 == 0 && target >= 3)
        frame.objects.push_back (scene.place (target, f));
    const auto tracks = library.process (frame);
    fail_unless_equals_int (tracks.size (), 3);
    for (int object = 0; object < int (frame.objects.size ()); object++)
      fail_unless (std::ranges::count (tracks, object, &TrackOut::object) == 1, "frame %d", f);
    n_others += std::size_t (std::ranges::count (tracks, -1, &TrackOut::object));
  }
  expect_none (library.complaint ());
  fail_unless_equals_int (n_others, 4 * 3);
}
