// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The correlation tracker and its parts, on pictures of targets whose places, sizes and colours are
// known.
#include <gst/track/correlation/single_target_tracker.hpp>

#include <algorithm>
#include <cmath>

#include "correlation_steps.hpp"
#include "test.hpp"

using namespace integralhist;

namespace {

/// Asks for a map of scores.
ScoreMap map_of (const FrameTensors &frame, std::span<const std::uint8_t> scores,
                 const CellGrid &grid)
{
  ScoreMap map (grid, frame.width (), frame.height ());
  TargetQueries queries, *const all = &queries;
  map.queue_cells (scores, queries.scores);
  fail_unless (run_queries (frame, { &all, 1 }).has_value ());
  map.set_sums (queries.scores.sums);
  return map;
}

/// Returns the sample of a box of 36x48 at 150, 120, times a scale.
SizeFilter::Sample sample (const SizeFilter &filter, const FrameTensors &frame, double scale)
{
  const auto grids = filter.cells ().grids ({ 150, 120, 36 * scale, 48 * scale });
  TargetQueries queries, *const all = &queries;
  for (const CellGrid &grid : grids)
    queries.sizes.grids.push_back (CellEdges::of (grid, kWidth, kHeight));
  fail_unless (run_queries (frame, { &all, 1 }).has_value ());
  return filter.sample (frame, grids, queries.sizes.sums);
}

}  // namespace

TEST (colour_scores)
{
  // a red target in a ring of blue and red, 3 to 1
  RgbPicture picture (kWidth, kHeight);
  for (int y = 0; y < kHeight; y++)
    for (int x = 0; x < kWidth; x++) {
      const bool red = (x >= 100 && x < 140 && y >= 100 && y < 140) || (x + y) % 4 == 0;
      picture.at (x, y)[red ? 0 : 2] = 255;
    }
  Frames frames (kWidth, kHeight);
  const FrameTensors frame = frames.of (picture);
  ColourModel model;
  TargetQueries queries, *const all = &queries;
  queries.boxes = ColourModel::boxes ({ 120, 120, 40, 40 });
  fail_unless (run_queries (frame, { &all, 1 }).has_value ());
  model.learn (queries.counts, 0.1);
  // bins of 16 hues, 4 saturations, 4 values; of 1 in the target and 0.25 in the ring: 0.8
  const int red = 15, blue = 120 * 16 / 180 * 16 + 15;
  fail_unless (model.scores ()[red] == 204 && model.scores ()[blue] == 0, "%d %d",
               model.scores ()[red], model.scores ()[blue]);

  const ScoreMap map = map_of (frame, model.scores (), { 40.3, 50.2, 7.7, 6.1, 25, 20 });
  const auto expect = [&] (double x, double y, double width, double height, double wanted,
                           double exact) {
    const double got = map.sums ().mean (x, y, width, height);
    fail_unless (std::fabs (got - wanted) <= exact, "%g, %g: %g, must be %g", x, y, got, wanted);
  };
  expect (120, 120, 30, 24, 0.8, 0.01);        // but for cells over the border
  expect (180, 90, 40, 40, 0.2, 0.01);         // a quarter
  expect (20, 20, 30, 30, 0, 0);               // outside of the cells
  expect (232.8, 80, 40, 40, 0.2 / 2, 0.005);  // half of it, at the edge of the cells
}

// Cells of one pixel give the sum over the pixels' scores.
TEST (score_of_pixels)
{
  Frames frames (kWidth, kHeight);
  const FrameTensors frame = frames.of (squares (kWidth, kHeight, 5, 0, 255));
  std::vector<std::uint8_t> scores (256);
  for (int i = 0; i < 256; i++)
    scores[i] = std::uint8_t (i * 7);
  const ScoreMap map = map_of (frame, scores, { 10, 20, 1, 1, 30, 25 });
  guint32 counts[256];
  fail_unless (gst_integral_histogram_region (frame.colours, 15, 23, 12, 9, counts, nullptr));
  double sum = 0;
  for (int i = 0; i < 256; i++)
    sum += double (counts[i]) * scores[i];
  fail_unless (std::fabs (map.sums ().mean (21, 27.5, 12, 9) - sum / (255 * 12 * 9)) < 1e-9);
}

TEST (sizes)
{
  const Scene scene;
  Frames frames (kWidth, kHeight);
  SizeFilter filter;
  filter.start (36, 48);
  filter.learn (sample (filter, frames.of (scene.at (150, 120)), 1), 1);
  for (const double scale : { 0.94, 0.97, 1.0, 1.03, 1.06 }) {
    const double found = filter.find (sample (filter, frames.of (scene.at (150, 120, scale)), 1));
    fail_unless (std::fabs (found / scale - 1) < 0.03, "%g, must be %g", found, scale);
  }
}

// A sample that is made larger or smaller is nearly the one of such a box.
TEST (enlarged_sample)
{
  const Scene scene;
  Frames frames (kWidth, kHeight);
  SizeFilter filter;
  filter.start (36, 48);
  const FrameTensors frame = frames.of (scene.at (150, 120));
  const auto distance = [] (const SizeFilter::Sample &a, const SizeFilter::Sample &b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size (); i++)
      sum += std::pow (a[i] - b[i], 2);
    return std::sqrt (sum);
  };
  const SizeFilter::Sample before = sample (filter, frame, 1);
  for (const double factor : { 0.975, 0.985, 1.0, 1.013, 1.025 }) {
    SizeFilter::Sample moved = before;
    fail_unless (size_steps_of (factor).has_value ());
    SizeFilter::enlarge_sample (moved, factor);
    const SizeFilter::Sample wanted = sample (filter, frame, factor);
    const double off = distance (moved, wanted), was = distance (before, wanted);
    fail_unless (factor == 1 ? off == 0 : off < 0.7 * was, "%g: %g, and %g before", factor, off,
                 was);
  }
  fail_unless (!size_steps_of (1.031) && !size_steps_of (0.97));
}

/// Checks that the confidence o / (1 + o) has the odds o = v^0.67 a^-0.75 exp (13 u + 5.1 l - 6.7)
/// at the age a, and 3.1 less in the exponent at the frame's edge; v, the odds of the evidence, is
/// s^1.8 exp (0.75 r + 1.6 c - 6.4).
static void expect_logistic (double confidence, const Evidence &evidence, const TrackRecord &record)
{
  const double visible = std::pow (std::max (evidence.sharpness, 0.1), 1.8)
                         * std::exp (0.75 * std::min (evidence.peak_ratio, 1.5)
                                     + 1.6 * std::min (evidence.colour_ratio, 1.2) - 6.4);
  const double odds = std::pow (std::min (visible, std::exp (3.4)), 0.67)
                      * std::pow (std::min (std::max (int (record.age), 8), 1000), -0.75)
                      * std::exp (13 * std::min (std::max (record.usual_score, 0.52), 0.74)
                                  + 5.1 * std::min (std::max (record.least_peak_ratio, 0.16), 0.97)
                                  - 6.7 - (record.is_at_edge ? 3.1 : 0));
  fail_unless (std::fabs (confidence - odds / (1 + odds)) < 1e-9,
               "%g of %g, %g, %g and %g, %g, %u, %d", confidence, evidence.sharpness,
               evidence.peak_ratio, evidence.colour_ratio, record.usual_score,
               record.least_peak_ratio, record.age, record.is_at_edge);
}

TEST (confidence)
{
  // a peak of 8 on rows of 1 and -1, whose deviation is 1; what is near the peak does not count
  std::vector<float> response (kGrid * kGrid);
  for (int y = 0; y < kGrid; y++)
    for (int x = 0; x < kGrid; x++)
      response[y * kGrid + x] = y % 2 ? 1.F : -1.F;
  const int row = 2, column = 30;
  for (int y = -5; y <= 5; y++)
    for (int x = -5; x <= 5; x++)
      response[(row + y + kGrid) % kGrid * kGrid + (column + x + kGrid) % kGrid] = 100;
  response[row * kGrid + column] = 8;
  double n = 0, sum = 0;  // 11 rows are not as many odd as even ones
  for (const float value : response)
    if (std::fabs (value) == 1)
      n++, sum += value;
  const double mean = sum / n, wanted = (8 - mean) / std::sqrt (1 - mean * mean);
  const double sharpness = inthist::correlation::sharpness_of (response.data (), row, column);
  fail_unless (std::fabs (sharpness - wanted) < 1e-9, "%g, must be %g", sharpness, wanted);
  const TrackRecord good = { 0.65, 0.9, 20, false };
  for (const double share : { -0.1, 0.0, 0.3, 1.0, 1.5, 9.0 })
    for (const double s : { -1.0, 0.0, 2.0, 10.0, 50.0 })
      for (const double colours : { 0.0, 0.1, 1.0, 2.0 }) {
        const Evidence evidence = { s, share, colours };
        const double confidence = match_confidence (evidence, good);
        expect_logistic (confidence, { s, std::max (share, 0.0), colours }, good);
        fail_unless (match_confidence ({ s + 1, share, colours }, good) >= confidence
                     && match_confidence ({ s, share + 0.1, colours }, good) >= confidence
                     && match_confidence ({ s, share, colours + 0.1 }, good) >= confidence);
      }
  // what was seen before counts, within limits
  const Evidence evidence = { 20, 1, 1 };
  for (const double score : { 0.0, 0.55, 0.7, 1.0 })
    for (const double least : { -1.0, 0.3, 0.8, 2.0 })
      for (const unsigned age : { 0U, 9U, 500U, 1U << 31 })
        for (const bool at_edge : { false, true }) {
          const TrackRecord record = { score, least, age, at_edge };
          const double confidence = match_confidence (evidence, record);
          expect_logistic (confidence, evidence, { score, least, std::min (age, 1000U), at_edge });
          fail_unless (
              match_confidence (evidence, { score + 0.1, least, age, at_edge }) >= confidence
              && match_confidence (evidence, { score, least + 0.1, age, at_edge }) >= confidence
              && match_confidence (evidence, { score, least, age / 2, at_edge }) >= confidence
              && match_confidence (evidence, { score, least, age, false }) >= confidence);
        }
  // a filter that has learned the background is not believed against the colours
  fail_unless (visible_log_odds ({ 8, 0.7, 0.1 }) < 0 && visible_log_odds ({ 14, 1, 1 }) > 0.4);
  // nor is a frame without evidence, whatever was seen before: the least peak is then 0 as well
  fail_unless (match_confidence ({ 0, 0, 0 }, { 1, 0, 2, false }) < 0.05);
  // nor is one that sees its target now, but once hardly saw it, among colours like those around it
  fail_unless (match_confidence (evidence, good) > 0.95
               && match_confidence (evidence, { 0.54, 0.2, 300, false }) < 0.3);
}

TEST (motion)
{
  const Scene scene;
  Frames frames (kWidth, kHeight);
  SingleTargetTracker tracker = start (frames, scene.at (100, 100), 100, 100);
  double x = 100, y = 100;
  for (int i = 1; i <= 40; i++) {
    x += 9 * std::cos (i * 0.2), y += 7 * std::sin (i * 0.15);
    follow (tracker, frames, scene.at (x, y));
    expect_logistic (tracker.confidence (), tracker.evidence (), tracker.record ());
    fail_unless (!tracker.is_lost () && overlap (tracker, x, y, 36, 48) > 0.85,
                 "frame %d: %gx%g at %g, %g, must be at %g, %g", i, tracker.width (),
                 tracker.height (), tracker.x (), tracker.y (), x, y);
  }
  fail_unless (tracker.confidence () > 0.5);
}

TEST (growth)
{
  const Scene scene;
  Frames frames (kWidth, kHeight);
  SingleTargetTracker tracker = start (frames, scene.at (160, 120), 160, 120);
  double scale = 1;
  for (int i = 1; i <= 50; i++) {
    scale *= i <= 25 ? 1.02 : 0.98;
    const double x = 160 + i;
    follow (tracker, frames, scene.at (x, 120, scale));
    fail_unless (overlap (tracker, x, 120, 36 * scale, 48 * scale) > 0.75,
                 "frame %d: %gx%g, must be %gx%g", i, tracker.width (), tracker.height (),
                 36 * scale, 48 * scale);
  }
}

// A tracker that starts with a box of the wrong shape finds, once it is corrected, how the target
// grows.
TEST (other_shape)
{
  const Scene scene;
  for (const double width : { 12, 110 }) {
    Frames frames (kWidth, kHeight);
    SingleTargetTracker first = start (frames, scene.at (160, 120), 160, 120, width, 40);
    for (int i = 0; i < 10; i++)
      follow (first, frames, scene.at (160, 120));
    correct (first, frames, scene.at (160, 120), 160, 120, 36, 48);
    double scale = 1;
    for (int i = 1; i <= 20; i++) {
      scale *= 1.02;
      follow (first, frames, scene.at (160, 120, scale));
      fail_unless (overlap (first, 160, 120, 36 * scale, 48 * scale) > 0.85,
                   "frame %d: %gx%g, must be %gx%g", i, first.width (), first.height (), 36 * scale,
                   48 * scale);
    }
  }
}

// The product of the ratios decides, from the 20th frame on: below a quarter the target has
// disappeared, above a half it is back. More of its colours than usual does not hide a fall.
TEST (disappearance)
{
  const Evidence usual{ 20, 1, 1 };
  const auto seen_for = [&] (int frames) {
    Disappearance seen;
    seen.start (usual);
    for (int i = 0; i < frames; i++)
      seen.note (usual);
    return seen;
  };
  const auto frames_after = [] (Disappearance seen, const Evidence &evidence) {
    seen.note (evidence);
    return seen.frames ();
  };
  const Disappearance seen = seen_for (19);
  fail_unless (frames_after (seen_for (18), { 2, 0.1, 1 }) == 0);  // too new
  fail_unless (frames_after (seen, usual) == 0);
  fail_unless (frames_after (seen, { 11, 0.55, 1 }) == 0);  // 0.30
  fail_unless (frames_after (seen, { 9, 0.5, 1 }) == 1);    // 0.23
  fail_unless (frames_after (seen, { 9, 0.5, 5 }) == 1);
  fail_unless (frames_after (seen, { 12, 0.6, 0.6 }) == 1);  // 0.22

  Disappearance gone = seen;
  for (unsigned i = 1; i <= 3; i++) {
    gone.note ({ 4, 0.4, 1 });
    fail_unless (gone.frames () == i);
  }
  fail_unless (frames_after (gone, { 16, 0.55, 1 }) == 4);  // 0.44: what is usual has not changed
  fail_unless (frames_after (gone, { 16, 0.7, 1 }) == 0);   // 0.56
  gone.start (usual, gone.age ());
  fail_unless (gone.frames () == 0);
  fail_unless (frames_after (gone, { 9, 0.5, 1 }) == 1);  // it is not a new one
  gone.start (usual);
  fail_unless (frames_after (gone, { 9, 0.5, 1 }) == 0);
}

// After a cut the target is lost, and the tracker does not learn the new picture. A tracker whose
// target is never lost learns it.
TEST (cut)
{
  const Scene scene;
  const RgbPicture other = squares (kWidth, kHeight, 7, 20, 255);
  for (const bool may_be_lost : { true, false }) {
    Frames frames (kWidth, kHeight);
    SingleTargetTracker tracker = start (frames, scene.at (150, 120), 150, 120);
    const auto follow_frame = [&] (const RgbPicture &picture) {
      const FrameTensors frame = frames.of (picture);
      fail_unless (tracker.begin_search (frame, may_be_lost ? kLostAfter : 0).has_value ());
      finish (tracker, frame);
    };
    for (int i = 0; i < 25; i++)
      follow_frame (scene.at (150, 120));
    for (int i = 0; i < 15; i++)
      follow_frame (other);
    fail_unless (tracker.is_lost () == may_be_lost);
    follow_frame (scene.at (150, 120));
    follow_frame (scene.at (150, 120));
    if (may_be_lost)
      fail_unless (!tracker.is_lost () && overlap (tracker, 150, 120, 36, 48) > 0.7, "at %g, %g",
                   tracker.x (), tracker.y ());
  }
}

// The first picture after the start has no target: a weak response does not count as the usual one.
TEST (weak_start)
{
  const Scene scene;
  Frames frames (kWidth, kHeight);
  SingleTargetTracker tracker = start (frames, scene.at (150, 120), 150, 120);
  follow (tracker, frames, squares (kWidth, kHeight, 7, 20, 255));
  fail_unless (tracker.evidence ().peak_ratio < 0.7, "%g", tracker.evidence ().peak_ratio);
  fail_unless (tracker.confidence () < 0.5, "%g", tracker.confidence ());
}

// The record has the least peak of the past, which recovers slowly. A new box begins it anew.
TEST (track_record)
{
  const Scene scene;
  Frames frames (kWidth, kHeight);
  SingleTargetTracker tracker = start (frames, scene.at (100, 100), 100, 100);
  double least = 0;
  for (int i = 1; i <= 60; i++) {
    const double before = least;
    follow (tracker, frames,
            i == 30 ? squares (kWidth, kHeight, 7, 20, 255) : scene.at (100 + i / 2., 100));
    const TrackRecord &record = tracker.record ();
    const double now = tracker.evidence ().peak_ratio;
    least = record.least_peak_ratio;
    const double wanted = i == 1 || now < before ? now : before + 0.005 * (now - before);
    fail_unless (std::fabs (least - wanted) < 1e-9, "frame %d: %g, must be %g", i, least, wanted);
    fail_unless (record.age == unsigned (i) && !record.is_at_edge);
  }
  fail_unless (least < 0.6);
  correct (tracker, frames, scene.at (130, 100), 130, 100, 36, 48);
  fail_unless (tracker.record ().age == 0 && tracker.record ().least_peak_ratio == 0);
  follow (tracker, frames, scene.at (130, 100));
  fail_unless (tracker.record ().age == 1 && tracker.record ().least_peak_ratio > 0.6);
}

// The record notes each edge of the frame.
TEST (edges)
{
  const Scene scene;
  const struct {
    double x, y, right, down;
  } walks[] = { { 40, 100, -1, 0 }, { 280, 100, 1, 0 }, { 160, 44, 0, -1 }, { 160, 196, 0, 1 } };
  for (const auto &[x, y, right, down] : walks) {
    Frames frames (kWidth, kHeight);
    SingleTargetTracker tracker = start (frames, scene.at (x, y), x, y);
    for (int i = 1; i <= 28; i++) {
      follow (tracker, frames, scene.at (x + i * right, y + i * down));
      const double gap = std::min ({ tracker.x () - 18, kWidth - tracker.x () - 18,
                                     tracker.y () - 24, kHeight - tracker.y () - 24 });
      fail_unless (std::fabs (gap - 2) < 3 || tracker.record ().is_at_edge == (gap < 2),
                   "%g, %g: %g pixels to the edge in frame %d", right, down, gap, i);
    }
    fail_unless (tracker.record ().is_at_edge, "%g, %g", tracker.x (), tracker.y ());
  }
}

// A target that is gone stays where it was, and is lost; elsewhere it is found again.
TEST (lost_and_found)
{
  const Scene scene;
  Frames frames (kWidth, kHeight);
  SingleTargetTracker tracker = start (frames, scene.at (80, 100), 80, 100);
  for (int i = 1; i <= 10; i++)
    follow (tracker, frames, scene.at (80 + i, 100));
  for (int i = 1; i <= int (kLostAfter); i++) {
    fail_unless (!tracker.is_lost ());
    follow (tracker, frames, scene.background);
  }
  fail_unless (tracker.is_lost () && tracker.confidence () == 0);
  for (int i = 0; i < 8; i++)
    follow (tracker, frames, scene.background);
  fail_unless (std::fabs (tracker.x () - 90) < 20 && std::fabs (tracker.y () - 100) < 20);
  for (int i = 0; i < 3; i++)
    follow (tracker, frames, scene.at (250, 180));
  fail_unless (!tracker.is_lost () && overlap (tracker, 250, 180, 36, 48) > 0.7, "at %g, %g",
               tracker.x (), tracker.y ());
}

// what hides a target is not learned
TEST (hidden)
{
  const Scene scene;
  Frames frames (kWidth, kHeight);
  SingleTargetTracker tracker = start (frames, scene.at (160, 120), 160, 120);
  for (int i = 1; i <= 10; i++)
    follow (tracker, frames, scene.at (160, 120));
  const RgbPicture wall = squares (60, 80, 9, 150, 200);
  for (int i = 0; i < 12; i++) {
    RgbPicture picture = scene.at (160, 120);
    draw (picture, wall, 160, 120);
    follow (tracker, frames, picture);
  }
  for (int i = 0; i < 3; i++)
    follow (tracker, frames, scene.at (166, 120));
  fail_unless (!tracker.is_lost () && overlap (tracker, 166, 120, 36, 48) > 0.7, "at %g, %g",
               tracker.x (), tracker.y ());
}

// targets whose queries run together have the same tracks as each by itself
TEST (together)
{
  const Scene scene;
  Frames frames (kWidth, kHeight);
  const CentreBox boxes[] = {
    { 100, 100, 36, 48 }, { 200, 60, 20, 20 }, { 60, 180, 90, 30 }, { 5, 5, 12, 9 }
  };
  std::vector<SingleTargetTracker> alone, together;
  std::vector<SingleTargetTracker *> all;
  for (const auto &box : boxes) {
    alone.push_back (start (frames, scene.at (100, 100), box.x, box.y, box.width, box.height));
    together.emplace_back (box);
  }
  for (SingleTargetTracker &tracker : together)
    all.push_back (&tracker);
  for (int i = 0; i < 30; i++) {
    // the target grows, leaves, and comes back
    const RgbPicture picture =
        i > 12 && i < 20 ? scene.background : scene.at (100 + 2 * i, 100, 1 + 0.02 * i);
    const FrameTensors frame = frames.of (picture);
    for (std::size_t t = 0; t < all.size (); t++)
      fail_unless (
          (i == 0 ? all[t]->start (frame, boxes[t]) : all[t]->begin_search (frame, kLostAfter))
              .has_value ());
    fail_unless (integralhist::run_stages (frame, all).has_value ());
    for (std::size_t t = 0; t < all.size (); t++) {
      if (i > 0)
        follow (alone[t], frames, picture);
      const SingleTargetTracker &a = alone[t], &b = *all[t];
      fail_unless (a.x () == b.x () && a.y () == b.y () && a.width () == b.width ()
                       && a.confidence () == b.confidence () && !all[t]->request (),
                   "target %zu, frame %d: %g, %g and %g, %g", t, i, a.x (), a.y (), b.x (), b.y ());
    }
  }
}

// targets of a pixel, as large as the frame, and over its border are no error
TEST (anywhere)
{
  const Scene scene;
  Frames frames (kWidth, kHeight);
  const struct {
    double x, y, width, height;
  } boxes[] = { { 100.5, 100.5, 1, 1 },   { 160, 120, kWidth, kHeight }, { 160, 120, kWidth, 1 },
                { 0, 0, 40, 40 },         { kWidth, kHeight, 30, 60 },   { 0.5, 120, 1, 240 },
                { kWidth - 0.5, 3, 1, 6 } };
  for (const auto &box : boxes) {
    SingleTargetTracker tracker =
        start (frames, scene.at (100, 100), box.x, box.y, box.width, box.height);
    for (int i = 0; i < 10; i++) {
      follow (tracker, frames, i < 3 ? scene.at (100 + i, 100) : RgbPicture (kWidth, kHeight));
      fail_unless (i > 0 || tracker.height () < 1.5 * box.height, "grew at once to %g",
                   tracker.height ());
      fail_unless (tracker.x () >= 0 && tracker.x () <= kWidth && tracker.y () >= 0
                   && tracker.y () <= kHeight && tracker.width () >= 1
                   && tracker.width () <= 5 * kWidth && tracker.confidence () >= 0);
    }
  }
}

// a target that is expected outside of the frame is looked for there, and goes on once it is seen
TEST (expected_outside)
{
  const Scene scene;
  Frames frames (kWidth, kHeight);
  for (const ExpectedMotion &motion :
       { ExpectedMotion{ 0, -900, 0.5 }, ExpectedMotion{ 0, 900, 0.5 },
         ExpectedMotion{ -900, 0, 0.5 }, ExpectedMotion{ 900, 900, 0.5 } }) {
    SingleTargetTracker tracker = start (frames, scene.at (160, 120), 160, 120);
    for (int i = 0; i < 5; i++)
      follow (tracker, frames, scene.at (160, 120));
    follow (tracker, frames, scene.at (160, 120), motion);
    const inthist::Region region = tracker.region (frames.of (scene.at (160, 120)), motion);
    fail_unless (region.width == 0 || region.height == 0);
    fail_unless (tracker.x () >= 0 && tracker.x () <= kWidth && tracker.y () >= 0
                 && tracker.y () <= kHeight);
    follow (tracker, frames, scene.at (160, 120));
    fail_unless (overlap (tracker, 160, 120, 36, 48) > 0.8, "at %g, %g", tracker.x (),
                 tracker.y ());
  }
}

// a flat picture has no gradient, and one colour
TEST (flat)
{
  Frames frames (kWidth, kHeight);
  const RgbPicture black (kWidth, kHeight);
  SingleTargetTracker tracker = start (frames, black, 160, 120);
  for (int i = 0; i < 20; i++)
    follow (tracker, frames, black);
  fail_unless (tracker.x () >= 0 && tracker.x () <= kWidth && std::isfinite (tracker.width ()));
}
