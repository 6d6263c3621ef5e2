// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tests of integralhisttrack: the classes and confidences of detections.
#include "walk.hpp"

#include "test.hpp"  // last: it has macros with names of the standard library

namespace {

/// A value of a type, from its text.
struct Confidence {
  const char *written;
  double is;  // NaN where it is no number
};

/// Adds a detection whose confidence is of any type.
void add_written (GstBuffer *buffer, const Place &box, const char *written)
{
  auto *const roi = add_detection (buffer, "thing", box, -1);
  const std::string text = std::string ("detection, confidence=") + written;
  GstStructure *const param = gst_structure_from_string (text.c_str (), nullptr);
  fail_unless (param != nullptr, "%s", text.c_str ());
  gst_video_region_of_interest_meta_add_param (roi, param);
}

}  // namespace

/// A track has the class and the confidence of its last detection, if there is one.
TEST_EACH (class_and_confidence, 2)
{
  Walk walk (__i__, "targets=" + text_of (kOther));
  for (int frame = 0; frame < 4; frame++) {
    auto picture = walk.scene.background ();
    walk.scene.draw (picture, kFirst, 7);
    walk.scene.draw (picture, kOther, 8);
    std::vector<Found> found;
    if (frame == 0)
      found = { { kFirst, "person", 0.95 } };
    if (frame == 2)
      found = { { kFirst, "person", kNone } };
    g_autoptr (GstBuffer) buffer = walk.tracking.push (picture, detected (found));
    fail_unless (buffer);
    int seen = 0;
    for (auto *const roi : rois_of (buffer)) {
      if (roi->roi_type != g_quark_from_string ("track"))
        continue;
      seen++;
      const GstStructure *param = gst_video_region_of_interest_meta_get_param (roi, "track");
      const char *class_name = gst_structure_get_string (param, "class");
      double confidence = -1;
      gst_structure_get_double (param, "detection-confidence", &confidence);
      fail_unless (g_strcmp0 (class_name, roi->id == 2 ? "person" : nullptr) == 0);
      fail_unless (confidence == (roi->id == 2 && frame < 2 ? 0.95 : -1), "frame %d: %g", frame,
                   confidence);
    }
    fail_unless_equals_int (seen, 2);
  }
}

/// A detector takes a target now for this class and now for that one: it is another target, unless
/// classes are merged. A track has the class of its last detection.
TEST_EACH (merged_classes, 2)
{
  for (const bool merges : { false, true }) {
    Walk walk (__i__, merges ? "merge-classes=true" : "");
    std::vector<Seen> tracks;
    for (int frame = 0; frame < 24; frame++)
      tracks = walk.with ({ kFirst, kOther },
                          { { kFirst, frame % 8 < 4 ? "car" : "truck", 0.95 }, { kOther } });
    const std::size_t n_first = std::size_t (std::ranges::count_if (
        tracks, [] (const Seen &its) { return overlap (its.box, kFirst) > 0.5; }));
    fail_unless (n_first == (merges ? 1 : 2), "%zu targets", n_first);
    fail_unless (!merges || (tracks.size () == 2 && !tracks[0].lost && tracks[0].id == 1));
  }
}

/// A confidence of any type of number is that number.
TEST_EACH (numbers_of_confidence, 2)
{
  const Confidence all[] = {
    { "(double)0.875", 0.875 }, { "(float)0.875", 0.875 },  { "(int)1", 1 },
    { "(uint)1", 1 },           { "(gint64)1", 1 },         { "(guint64)1", 1 },
    { "(guchar)1", 1 },         { "(fraction)7/8", 0.875 }, { "(glong)1", 1 },
  };
  for (const auto &[written, is] : all) {
    Walk walk (__i__, "");
    g_autoptr (GstBuffer) out =
        walk.tracking.push (walk.scene.background (), [written = written] (GstBuffer *buffer) {
          add_written (buffer, kFirst, written);
        });
    fail_unless (out != nullptr, "%s", walk.tracking.error ().c_str ());
    auto *const tracks = gst_buffer_get_integral_histogram_tracks_meta (out);
    fail_unless (tracks && gst_integral_histogram_tracks_meta_get_n_tracks (tracks) == 1);
    g_autoptr (GstStructure) track = gst_integral_histogram_tracks_meta_get_track (tracks, 0);
    double confidence = -1;
    fail_unless (gst_structure_get_double (track, "detection-confidence", &confidence), "%s",
                 written);
    fail_unless (confidence == is, "%s: %f", written, confidence);
  }
}

/// A box starts a target at once if a detector is sure of it; when it is seen again if the detector
/// is fairly sure, or does not say how sure; and never if it is hardly sure, which only continues a
/// target.
TEST_EACH (births, 2)
{
  const struct {
    double confidence;
    int seen_from;  // frame
  } all[] = { { 0.95, 0 }, { 0.7, 1 }, { kNone, 1 }, { 0.3, 100 }, { 0, 100 } };
  for (const auto &[confidence, seen_from] : all) {
    Walk walk (__i__, "");
    for (int frame = 0; frame < 12; frame++) {
      const auto tracks = walk.with ({ kFirst }, { { kFirst, "thing", confidence } });
      fail_unless (int (tracks.size ()) == int (frame >= seen_from), "%g, frame %d: %zu",
                   confidence, frame, tracks.size ());
    }
    const auto tracks = walk.with ({ kFirst }, { { kFirst, "thing", 0.95 } });
    fail_unless (tracks.size () == 1 && tracks[0].id == 1);
    for (int frame = 0; frame < 12; frame++)
      fail_unless_equals_int (
          visible (walk.with ({ kFirst }, { { kFirst, "thing", 0.3 } })).size (), 1);
  }
}

/// The surer one of two boxes on one spot counts, whatever the type of its confidence. A confidence
/// that is not a number is never the surer one, and one warning says so.
TEST_EACH (surest, 2)
{
  const Place sure = { 66, 54, 80, 60 }, other = { 60, 50, 90, 70 };
  const struct {
    const char *less, *more;
    bool are_numbers;
  } all[] = {
    { "(float)0.1", "(float)0.9", true },     { "(double)0.1", "(float)0.9", true },
    { "(int)0", "(fraction)9/10", true },     { "(guint64)0", "(int)1", true },
    { "(string)high", "(double)0.9", false }, { "(double)nan", "(float)0.9", false },
    { "(double)inf", "(float)0.9", false },   { "(string)0.9", "(int)1", false },
    { "(boolean)true", "(double)1", false },
  };
  for (const auto &[less, more, are_numbers] : all) {
    Walk walk (__i__, "");
    std::string said;
    for (int frame = 0; frame < 3; frame++) {
      const auto tracks = walk.tracking.follow (walk.scene.background (),
                                                [&, less = less, more = more] (GstBuffer *buffer) {
                                                  add_written (buffer, other, less);
                                                  add_written (buffer, sure, more);
                                                });
      fail_unless (tracks.size () == 1 && tracks[0].box == sure, "%s and %s", less, more);
      said += walk.tracking.take_warnings ();
    }
    if (are_numbers)
      expect_none (said, less);
    else
      expect_one (said, { "is not a finite number but" }, less);
  }
}

/// A confidence in per cent counts as sure, and one warning says so.
TEST_EACH (per_cent, 2)
{
  Walk walk (__i__, "");
  std::string said;
  for (int frame = 0; frame < 3; frame++) {
    const auto tracks = walk.tracking.follow (walk.scene.background (), [&] (GstBuffer *buffer) {
      add_written (buffer, kFirst, "(int)92");
    });
    fail_unless (tracks.size () == 1 && tracks[0].box == kFirst);
    said += walk.tracking.take_warnings ();
  }
  expect_one (said, { "is 92, and the surest is 1" });
}

/// One warning says that no detection can start a target, and why: none is sure enough, or no sure
/// one is in the frame. If one of them can, there is no warning.
TEST_EACH (unused, 2)
{
  const char *const sure = "(double)0.9", *const unsure = "(double)0.59";
  const Place outside = { 241, 10, 9, 9 }, empty = { 0, 0, 0, 0 };
  const std::string least = "None of the first 100 detections has a confidence of 0.6 or more",
                    frame_only = "None of the first 100 detections with a confidence of 0.6 or "
                                 "more overlaps the 240x160 frame";
  const struct {
    std::vector<std::pair<Place, const char *>> detections;  // of each frame
    std::string said;
  } all[] = {
    { { { kFirst, unsure } }, least },
    { { { outside, unsure } }, least },
    { { { outside, sure } }, frame_only },
    { { { empty, sure } }, frame_only },
    { { { outside, sure }, { kFirst, unsure } }, frame_only },
    { { { kFirst, "(double)0.6" } }, "" },
  };
  for (const auto &[detections, wanted] : all) {
    Walk walk (__i__, "");
    std::string said;
    for (int frame = 1; frame <= 110; frame++) {
      walk.tracking.follow (walk.scene.background (), [&, &found = detections] (GstBuffer *buffer) {
        for (const auto &[place, confidence] : found)
          add_written (buffer, place, confidence);
      });
      const std::string now = walk.tracking.take_warnings ();
      fail_unless (now.empty () || frame * detections.size () == 100, "frame %d: %s", frame,
                   now.c_str ());
      said += now;
    }
    fail_unless (std::ranges::count (said, '\n') == (wanted.empty () ? 0 : 1)
                     && said.starts_with (wanted),
                 "%s instead of %s", said.c_str (), wanted.c_str ());
  }
}

/// One warning says that there are too many targets.
TEST (too_many)
{
  const Scene scene (16, 16);
  std::string targets;
  for (int i = 0; i < 1001; i++)
    targets += "0,0,8,8;";
  Tracking tracking (scene, "method=fragments targets=\"" + targets + "\"",
                     "cudaintegralhist bins=2");
  std::string said;
  for (int frame = 0; frame < 2; frame++) {
    fail_unless (tracking.follow (scene.background ()).size () == 1000);
    said += tracking.take_warnings ();
  }
  expect_one (said, { "at most 1000 are followed" });
}
