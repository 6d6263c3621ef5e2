// SPDX-License-Identifier: LGPL-2.1-or-later
//
// integralhisttrack with method=correlation: what the method needs of frames, what it asks of them,
// and that everything else works as with method=fragments.
//
//   INTHIST_CASES=small  few targets on a GPU, for sanitizers
#include <optional>

#include <tbb/global_control.h>

#include "missing.hpp"
#include "tracking.hpp"
#include "test.hpp"

namespace {

const std::string kGradients = "cudaintegralhist backend=cpu feature=signed-gradient bins=18 "
                               "weight=gradient soft=true name=gradients ",
                  kColours = "cudaintegralhist backend=cpu feature=hsv name=colours ",
                  kLuma = "cudaintegralimage backend=cpu name=luma ";
const std::string kAll = kGradients + "! " + kColours + "! " + kLuma;

void expect_near (const std::vector<Seen> &tracks, std::size_t which, const Place &wanted,
                  int frame)
{
  fail_unless (tracks.size () > which, "frame %d: no track", frame);
  fail_unless (!tracks[which].lost && overlap (tracks[which].box, wanted) > 0.7,
               "frame %d: %s, must be %s", frame, text_of (tracks[which].box).c_str (),
               text_of (wanted).c_str ());
}

}  // namespace

TEST (follows)
{
  const Scene scene (200, 140);
  const Place firsts[] = { kFirst, { 130, 20, 30, 20 } };
  Tracking tracking (scene,
                     "method=correlation targets=\"" + text_of (way (0, firsts[0])) + ";"
                         + text_of (way (0, firsts[1])) + "\"",
                     kAll);
  for (int frame = 0; frame < 38; frame++) {
    auto picture = scene.background ();
    for (int i = 0; i < 2; i++)
      scene.draw (picture, way (frame, firsts[i]), 7 + i);
    const auto tracks = tracking.follow (picture);
    fail_unless_equals_int (tracks.size (), 2);
    for (int i = 0; i < 2; i++) {
      expect_near (tracks, i, way (frame, firsts[i]), frame);
      fail_unless (tracks[i].id == guint (i + 1) && tracks[i].confidence > 0.3
                   && tracks[i].confidence <= 1);
    }
  }
}

/// In a large frame only the surroundings of the target are computed.
TEST (asks_what_is_near)
{
  const Scene scene (800, 600);
  Tracking tracking (scene, "method=correlation targets=" + text_of (way (0)), kAll);
  for (int frame = 0; frame < 12; frame++)
    expect_near (tracking.follow (scene.with (way (frame))), 0, way (frame), frame);
  for (const char *name : { "gradients", "colours", "luma" }) {
    g_autoptr (GstElement) element = gst_bin_get_by_name (GST_BIN (tracking->element), name);
    const guint64 whole = stat_of (element, "tensors"), parts = stat_of (element, "part-tensors"),
                  pixels = stat_of (element, "pixel-answers");
    fail_unless (whole == 0 && parts + pixels > 0, "%s: %d whole tensors", name, int (whole));
  }
}

/// If a box leaves the frame, the part of the box inside the frame is reported.
TEST (leaves_the_frame)
{
  const Scene scene (200, 140);
  Place place = { 60, 60, 40, 32 };
  Tracking tracking (scene, "method=correlation targets=" + text_of (place), kAll);
  int cut = 0;
  for (int frame = 0; frame < 18; frame++, place.x -= 4) {
    for (const Seen &track : tracking.follow (scene.with (place))) {
      const Place &box = track.box;
      fail_unless (box.x >= 0 && box.y >= 0 && box.x + box.width <= 200
                       && box.y + box.height <= 140,
                   "frame %d: %s", frame, text_of (box).c_str ());
      cut += box.x == 0 && box.width < 36;
    }
  }
  fail_unless (cut > 0);
}

/// The error of the default method says what is missing, and which element gives all; with a
/// histogram there it says what else goes.
TEST (missing)
{
  const struct {
    std::string before, missing;
  } cases[] = {
    { "", "weighted gradients, and no integral histogram of hsv, and no integral image of luma" },
    { kColours + "! " + kLuma + "! ", "carry no integral histogram of weighted gradients:" },
    { kGradients + "! " + kLuma + "! ", "carry no integral histogram of hsv:" },
    { kGradients + "! " + kColours + "! ", "carry no integral image of luma:" },
    { kGradients + "! " + kColours + "! cudaintegralimage backend=cpu feature=hue ! ",
      "of luma (but one of another feature):" },
    { kGradients + "! " + kColours + "! cudaintegralimage backend=cpu lut=0,1,2 ! ",
      "of luma (but one with other settings):" },
    { kGradients + "! cudaintegralhist backend=cpu feature=hue ! " + kLuma + "! ",
      "of hsv (but one of another feature):" },
    { kGradients + "! cudaintegralhist backend=cpu feature=hsv lut=1,2,3 bins=16 ! " + kLuma + "! ",
      "of hsv (but one with other settings):" },
    { kGradients + "! " + kColours + "! videoscale ! video/x-raw,width=32,height=24 ! "
          + "cudaintegralimage backend=cpu ! ",
      "of luma:" },
  };
  for (const auto &c : cases) {
    const Outcome outcome = run_with ("integralhisttrack targets=10,10,20,20", c.before, 110);
    fail_unless (outcome.errors.size () == 1, "%s: no error", c.before.c_str ());
    const std::string &text = outcome.errors[0];
    expect_parts (text, { c.missing, ": put cudatrackfeatures before asks" }, c.before);
    fail_unless ((text.find (", and leave feature, bins, ") != std::string::npos)
                         == (c.missing.find ("(but one") != std::string::npos)
                     && (text.find ("or set method=fragments") == std::string::npos)
                            == c.before.empty (),
                 "%s", text.c_str ());
  }
}

/// Gradients with other settings are not taken for what is wanted.
TEST (other_settings)
{
  const char *const others[] = { "bins=9 weight=gradient soft=true", "bins=18 weight=gradient",
                                 "bins=18" };
  for (const char *const other : others) {
    const Outcome outcome =
        run_with ("integralhisttrack method=correlation targets=10,10,20,20",
                  std::string ("cudaintegralhist backend=cpu feature=signed-gradient ") + other
                      + " ! " + kColours + "! " + kLuma + "! ",
                  1);
    fail_unless (outcome.errors.size () == 1, "%s", other);
    expect_parts (outcome.errors[0],
                  { "no integral histogram of weighted gradients (but one with other settings)" },
                  other);
  }
}

/// Frames that producers leave out have no track, and are no error.
TEST (interval)
{
  const Scene scene (160, 120);
  Tracking tracking (scene, "method=correlation targets=" + text_of (way (0)),
                     kGradients + "interval=3 ! " + kColours + "interval=2 ! " + kLuma);
  for (int frame = 0; frame < 36; frame++) {
    const auto tracks = tracking.follow (scene.with (way (frame / 3)));
    fail_unless_equals_int (tracks.size (), frame % 6 == 0 ? 1 : 0);
    if (frame % 6 == 0)
      expect_near (tracks, 0, way (frame / 3), frame);
  }
}

/// A target keeps its id and its place where the method changes.
TEST (method_changes)
{
  const Scene scene (160, 120);
  Tracking tracking (scene, "feature=luma targets=" + text_of (way (0)),
                     kAll + "! cudaintegralhist backend=cpu bins=16");
  for (int frame = 0; frame < 39; frame++) {
    if (frame == 13 || frame == 26)
      tracking.set ("method", frame == 13 ? "correlation" : "fragments");
    const Place place = way (frame == 13 || frame == 26 ? frame - 1 : frame);
    const auto tracks = tracking.follow (scene.with (place));
    expect_near (tracks, 0, place, frame);
    fail_unless (tracks.size () == 1 && tracks[0].id == 1);
    const std::string said = tracking.take_warnings ();
    fail_unless ((said.find ("ignores these properties of method=fragments: feature.") != said.npos)
                     == (frame == 13),
                 "frame %d: %s", frame, said.c_str ());
  }
}

/// The method changes at a frame that a producer has left out, which is no error.
TEST (method_changes_at_a_gap)
{
  const Scene scene (160, 120);
  for (const int left_out : { 0, 1, 2 }) {
    const auto line = [&] (int which, const std::string &producer) {
      return producer + (which == left_out ? "interval=2 ! " : "! ");
    };
    Tracking tracking (scene, "feature=luma targets=" + text_of (kFirst),
                       line (0, kGradients) + line (1, kColours) + line (2, kLuma)
                           + "cudaintegralhist backend=cpu bins=16");
    for (int frame = 0; frame < 16; frame++) {
      if (frame == 5)
        tracking.set ("method", "correlation");
      const auto tracks = tracking.follow (scene.with (kFirst));
      fail_unless_equals_int (tracks.size (), frame < 5 || frame % 2 == 0);
    }
  }
}

/// A lost target is not found by a change of the method, which knows nothing of it.
TEST (lost_while_the_method_changes)
{
  const Scene scene (160, 120);
  for (const bool to_fragments : { false, true }) {
    Tracking tracking (scene,
                       std::string ("feature=luma lost-after=3 method=")
                           + (to_fragments ? "correlation" : "fragments")
                           + " targets=" + text_of (kFirst),
                       kAll + "! cudaintegralhist backend=cpu bins=16");
    for (int frame = 0; frame < 10; frame++)
      tracking.follow (scene.with (kFirst));
    for (int frame = 0; frame < 8; frame++)
      tracking.follow (scene.background ());
    fail_unless (tracking.follow (scene.background ())[0].lost);
    tracking.set ("method", to_fragments ? "fragments" : "correlation");
    for (int frame = 0; frame < 8; frame++)
      fail_unless (tracking.follow (scene.background ())[0].lost);
    const auto tracks = tracking.follow (scene.with (kFirst), [&] (GstBuffer *buffer) {
      add_detection (buffer, "thing", kFirst, -1);
    });
    fail_unless (tracks.size () == 1 && tracks[0].id == 1);
    expect_near (tracks, 0, kFirst, 0);
  }
}

TEST (caps_change)
{
  Tracking tracking ("method=correlation targets=" + text_of (kFirst), kAll);
  for (const int scale : { 1, 2 }) {
    const Scene scene (160 * scale, 120 * scale, scale);
    tracking.set_caps (160 * scale, 120 * scale);
    for (int frame = 0; frame < 8; frame++) {
      const Place place = { (kFirst.x + frame) * scale, kFirst.y * scale, kFirst.width * scale,
                            kFirst.height * scale };
      expect_near (tracking.follow (scene.with (place)), 0, place, frame);
    }
  }
}

/// A lost target has no region of interest, and starts again where it is detected.
TEST (lost_and_detected)
{
  const Scene scene (320, 240);
  const Place first = { 40, 40, 36, 48 }, elsewhere = { 200, 150, 36, 48 };
  Tracking tracking (scene, "method=correlation lost-after=3 targets=" + text_of (first), kAll);
  for (int frame = 0; frame < 10; frame++)
    expect_near (tracking.follow (scene.with (first)), 0, first, frame);
  std::vector<Seen> tracks;
  for (int frame = 0; frame < 8; frame++)
    tracks = tracking.follow (scene.background ());
  fail_unless (tracks.size () == 1 && tracks[0].lost && tracks[0].confidence == 0);
  tracks = tracking.follow (scene.with (first), [&] (GstBuffer *buffer) {
    add_detection (buffer, "thing", tracks[0].box, -1);
  });
  fail_unless (tracks.size () == 1 && tracks[0].id == 1 && !tracks[0].lost);
  for (int frame = 0; frame < 4; frame++)
    expect_near (tracking.follow (scene.with (first)), 0, first, frame);
  for (int frame = 0; frame < 8; frame++)
    tracks = tracking.follow (scene.background ());
  fail_unless (tracks[0].lost);
  for (int frame = 0; frame < 4; frame++)  // seen again anywhere
    tracks = tracking.follow (scene.with (elsewhere));
  expect_near (tracks, 0, elsewhere, 4);
}

/// The track is the same, to the pixel and the bit, whichever device computes each tensor.
TEST (devices_agree)
{
  const Scene scene (160, 120);
  std::vector<std::vector<Seen>> all[2];
  const std::string line =
      kGradients + "compute=eager ! " + kColours + "compute=eager ! " + kLuma + "compute=eager";
  const bool has_cuda = have ("cuda");
  std::string other = has_cuda ? line : kAll;
  for (std::size_t at = 0; has_cuda && (at = other.find ("backend=cpu", at)) != std::string::npos;)
    other.replace (at, 11, "backend=cuda");
  for (int i = 0; i < 2; i++) {
    Tracking tracking (scene, "method=correlation targets=" + text_of (way (0)),
                       i == 0 ? line : other);
    for (int frame = 0; frame < 30; frame++)
      all[i].push_back (tracking.follow (scene.with (way (frame))));
  }
  fail_unless (all[0] == all[1]);
}

/// Nor does it matter how many threads follow how many targets.
TEST (threads_agree)
{
  const Scene scene (320, 240);
  const auto place = [] (int target, int frame) {
    return Place{ 30 + 60 * target + frame, 40 + 50 * (target % 3) + frame / 2, 30, 36 };
  };
  for (const int targets : { 1, 4 }) {
    std::string boxes;
    for (int target = 0; target < targets; target++)
      boxes += (target > 0 ? ";" : "") + text_of (place (target, 0));
    std::vector<std::vector<Seen>> all[2];
    for (int i = 0; i < 2; i++) {
      std::optional<tbb::global_control> alone;
      if (i == 0)
        alone.emplace (tbb::global_control::max_allowed_parallelism, 1);
      Tracking tracking (scene, "method=correlation targets=" + boxes, kAll);
      for (int frame = 0; frame < 25; frame++) {
        auto picture = scene.background ();
        for (int target = 0; target < targets; target++)
          scene.draw (picture, place (target, frame), unsigned (target));
        all[i].push_back (tracking.follow (picture));
        fail_unless_equals_int (all[i].back ().size (), targets);
      }
    }
    fail_unless (all[0] == all[1], "%d targets", targets);
  }
}

/// A GPU has the filters of one target and of many, and the tracks are the CPU's. Some targets are
/// hidden, lost and found, or detected, in frames of two sizes.
TEST (filters_on_a_gpu)
{
  if (!have ("cuda"))
    return;
  const bool small = g_strcmp0 (g_getenv ("INTHIST_CASES"), "small") == 0;
  for (const int targets : { 1, small ? 3 : 18 }) {
    std::vector<std::vector<Seen>> all[2];
    bool some_lost = false;
    for (int i = 0; i < 2; i++) {
      std::string line = kAll;
      for (std::size_t at = 0; i == 1 && (at = line.find ("backend=cpu", at)) != std::string::npos;)
        line.replace (at, 11, "backend=cuda compute=on-demand");
      const auto place = [] (int target, int frame) {
        return Place{ 60 + 90 * (target % 6) + frame, 70 + 110 * (target / 6) + frame / 2, 44, 52 };
      };
      std::string boxes;
      for (int target = 0; target < targets; target++)
        boxes += (target > 0 ? ";" : "") + text_of (place (target, 0));
      Tracking tracking ("method=correlation lost-after=2 targets=\"" + boxes + "\"", line);
      for (const int width : { 700, 644 }) {
        const Scene scene (width, 480);
        tracking.set_caps (width, 480);
        for (int frame = 0; frame < 20; frame++) {
          auto picture = scene.background ();
          for (int target = 0; target < targets; target++)
            if (target % 5 != 0 || frame < 6 || frame > 10)
              scene.draw (picture, place (target, frame), unsigned (target));
          all[i].push_back (tracking.follow (picture, [&] (GstBuffer *buffer) {
            if (frame == 14)
              add_detection (buffer, "thing", place (targets / 2, frame), -1);
          }));
          fail_unless_equals_int (all[i].back ().size (), targets);
          some_lost |= all[i].back ()[0].lost;
        }
      }
      for (const char *name : { "gradients", "colours", "luma" }) {
        g_autoptr (GstElement) element = gst_bin_get_by_name (GST_BIN (tracking->element), name);
        const guint64 answers = stat_of (element, "device-answers");
        fail_unless (i == 0 ? answers == 0 : answers > 10, "%s: %d", name, int (answers));
      }
    }
    fail_unless (some_lost && all[0] == all[1], "%d targets", targets);
  }
}
