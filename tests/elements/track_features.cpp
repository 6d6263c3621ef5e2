// SPDX-License-Identifier: LGPL-2.1-or-later
//
// integralhisttrack where histograms become those of another feature, and where pixels count
// nowhere.
#include "tracking.hpp"
#include "test.hpp"

namespace {

/// Adds the histogram of these pixels by other settings, as another producer upstream would.
std::function<void (GstBuffer *)> counted_by (const std::string &settings)
{
  return [settings] (GstBuffer *buffer) {
    Harness h ("cudaintegralhist backend=cpu tuning-time=0 " + settings,
               "video/x-raw,format=GRAY8,width=160,height=120,framerate=25/1");
    g_autoptr (GstBuffer) counted = gst_harness_push_and_pull (h, gst_buffer_copy (buffer));
    gst_buffer_add_integral_histogram_meta (
        buffer, gst_buffer_get_integral_histogram_meta (counted)->histogram);
  };
}

/// A table for sixteen bins of luma without the first.
std::string of_bright ()
{
  std::string text = "bins=16 lut=99";
  for (int value = 1; value < 256; value++)
    text += "," + std::to_string (value < 16 ? 99 : value / 16);
  return text;
}

const auto kLuma = counted_by ("bins=16"), kFine = counted_by ("bins=256"),
           kGradient = counted_by ("feature=signed-gradient bins=16"),
           kBright = counted_by (of_bright ());

}  // namespace

/// A target goes on where it is.
TEST (another_feature)
{
  const Scene scene (160, 120);
  Tracking tracking (scene, "targets=" + text_of (way (0)), "");
  for (int frame = 0; frame < 39; frame++) {
    const Place place = way (frame == 20 ? 19 : frame);  // it rests where the feature changes
    const auto tracks = tracking.follow (scene.with (place), frame < 20 ? kLuma : kGradient);
    expect_at (tracks, 0, place, frame);
    fail_unless (tracks.size () == 1 && tracks[0].id == 1 && !tracks[0].lost);
    if (frame == 20)
      fail_unless (tracks[0].confidence == 1, "it has not started again");
  }
}

/// A lost target is not taken for what is where it was last. It is found by its own feature, or
/// starts where it is detected.
TEST (another_feature_when_lost)
{
  const Scene scene (160, 120);
  for (const bool is_detected : { false, true }) {
    Tracking tracking (scene, "lost-after=3 targets=" + text_of (kFirst), "");
    const auto frame = [&] (const Place *place, const auto &count, bool detection = false) {
      const auto picture = place ? scene.with (*place) : scene.background ();
      const auto tracks = tracking.follow (picture, [&] (GstBuffer *buffer) {
        count (buffer);
        if (detection)
          add_detection (buffer, "person", *place, -1);
      });
      fail_unless_equals_int (tracks.size (), 1);
      return tracks[0];
    };
    Place place = kFirst;
    for (int i = 0; i < 8; i++)
      frame (&place, kLuma);
    int until_lost = 0;
    while (!frame (nullptr, kLuma).lost && ++until_lost < 10)
      ;
    for (int i = 0; i < 5; i++) {
      const Seen seen = frame (&place, kGradient);
      fail_unless (seen.lost && seen.confidence == 0 && seen.box == kFirst, "found by no model");
    }
    if (!is_detected) {
      fail_unless (!frame (&place, kLuma).lost, "not found by its own feature");
      continue;
    }
    place.x += 4;
    fail_unless (!frame (&place, kGradient, true).lost, "a detection has not started it");
    for (int i = 0; i < 5; i++) {
      place.x += 2;
      expect_at ({ frame (&place, kGradient) }, 0, place, i);
    }
  }
}

/// If most pixels of a target have no bin, the tracker follows the others.
TEST (mostly_without_a_bin)
{
  constexpr Place kLarge = { 20, 30, 48, 64 };
  const Scene scene (160, 120);
  for (const char *settings : { "", "update-rate=0.1", "measure=intersection", "measure=l1" }) {
    Tracking tracking (scene, std::string (settings) + " targets=" + text_of (kLarge), "");
    for (int frame = 0; frame < 12; frame++) {
      std::vector<guint8> picture (160 * 120, 0);
      Place place = kLarge;
      place.x += 3 * frame;
      Place top = place;
      top.height = 8;
      scene.draw (picture, top, 7);
      const auto tracks = tracking.follow (picture, kBright);
      fail_unless (!tracks[0].lost, "%s: lost in frame %d", settings, frame);
      expect_at (tracks, 0, place, frame);
    }
    expect_none (tracking.take_warnings ());
  }
}

/// A target without a pixel that counts is lost from the start, whatever comes near, and one
/// warning says so.
TEST (without_a_bin)
{
  const Scene scene (160, 120);
  for (const char *feature : { "hue", "gradient" }) {
    Tracking tracking (scene, "targets=\"40,30,24,32;90,60,20,20\"",
                       std::string ("cudaintegralhist bins=16 backend=cpu feature=") + feature);
    for (int frame = 0; frame < 6; frame++) {
      std::vector<guint8> picture (160 * 120, 50);
      if (frame > 2)
        scene.draw (picture, { 30, 30, 24, 32 }, 7);
      const auto tracks = tracking.follow (picture);
      fail_unless_equals_int (tracks.size (), 2);
      for (const Seen &seen : tracks)
        fail_unless (seen.lost && seen.confidence == 0);
      fail_unless (tracks[0].box == (Place{ 40, 30, 24, 32 }), "it has moved");
      const std::string warning = tracking.take_warnings ();
      if (frame > 0)
        expect_none (warning, std::string (feature) + ", frame " + std::to_string (frame));
      else {
        // one of the target; another one says that gray frames have no hue
        fail_unless_equals_int (std::ranges::count (warning, '\n'),
                                strcmp (feature, "hue") == 0 ? 2 : 1);
        expect_parts (warning,
                      { "Target 1 has no pixel in any bin", "set targets to another box",
                        "feature of cudaintegralhist" },
                      feature);
      }
    }
    tracking.set ("targets", "2,2,20,20");
    fail_unless (tracking.follow (std::vector<guint8> (160 * 120, 50))[0].lost);
    expect_parts (tracking.take_warnings (), { "Target 3" });
  }
}

/// A detection comes with the first frame of other bins, which cost more: they are not compared
/// with the old ones. At the frame's corner there are few positions, so that the costs decide.
TEST (bins_with_a_detection)
{
  const Scene scene (160, 120);
  const Place corner = { 0, 0, 32, 32 };
  Tracking tracking (scene, "method=fragments lost-after=3 targets=" + text_of (corner), "");
  std::mt19937 random (3);
  for (int frame = 0; frame < 24; frame++) {
    auto picture = scene.with (corner);
    for (auto &value : picture)
      value = guint8 (std::clamp (value + int (random () % 21) - 10, 0, 255));
    const auto tracks = tracking.follow (picture, [&] (GstBuffer *buffer) {
      (frame < 12 ? kLuma : kFine) (buffer);
      if (frame == 12)
        add_detection (buffer, "thing", corner, -1);
    });
    fail_unless (tracks.size () == 1 && !tracks[0].lost, "frame %d: %zu tracks", frame,
                 tracks.size ());
  }
}
