// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The assignment of detections to targets, compared with all permutations; the gain of a pair by
// place and look; the speed of targets; and the pace of a detector.
#include <gst/track/association/assignment.hpp>
#include <gst/track/association/camera_motion.hpp>
#include <gst/track/association/detection_matching.hpp>
#include <gst/track/association/detector_pace.hpp>
#include <gst/track/association/motion.hpp>
#include <gst/track/tracked_target.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "test.hpp"  // last: it has macros with names of the standard library

using namespace integralhist;

namespace {

double sum_of (const std::vector<double> &gains, std::size_t columns, const std::vector<int> &pairs)
{
  double sum = 0;
  for (std::size_t row = 0; row < pairs.size (); row++)
    if (pairs[row] >= 0)
      sum += gains[row * columns + std::size_t (pairs[row])];
  return sum;
}

/// Returns the largest sum over all ways to give each row a column of its own, or none.
double best_of_all (const std::vector<double> &gains, std::size_t rows, std::size_t columns)
{
  std::vector<int> order (rows + columns);  // from `columns` on: no column
  std::iota (order.begin (), order.end (), 0);
  double best = 0;
  do {
    double sum = 0;
    for (std::size_t row = 0; row < rows; row++)
      if (std::size_t (order[row]) < columns)
        sum += gains[row * columns + std::size_t (order[row])];
    best = std::max (best, sum);
  } while (std::next_permutation (order.begin (), order.end ()));
  return best;
}

}  // namespace

/// Gains are whole numbers, with many ties, and other numbers; gains below 0 are never worth it.
TEST (all_permutations)
{
  std::mt19937 random (1);
  for (int round = 0; round < 600; round++) {
    const std::size_t rows = random () % 5, columns = random () % 5;
    std::vector<double> gains (rows * columns);
    for (double &gain : gains)
      gain = round % 2 ? double (random () % 4) - 1 : double (random ()) / 4e9 - 0.3;
    const auto pairs = assign (gains, rows, columns);
    fail_unless (pairs == assign (gains, rows, columns));
    fail_unless_equals_int (pairs.size (), rows);
    for (std::size_t row = 0; row < rows; row++)
      if (pairs[row] >= 0)
        fail_unless (std::size_t (pairs[row]) < columns
                     && gains[row * columns + std::size_t (pairs[row])] > 0
                     && std::ranges::count (pairs, pairs[row]) == 1);
    const double wanted = best_of_all (gains, rows, columns), got = sum_of (gains, columns, pairs);
    fail_unless (std::abs (wanted - got) < 1e-9, "round %d, %zux%zu: %g, must be %g", round, rows,
                 columns, got, wanted);
  }
}

/// A greedy choice is wrong here; and a hundred rows and columns have one best way.
TEST (not_greedy)
{
  fail_unless (assign (std::vector<double>{ 9, 8, 8, 1 }, 2, 2) == (std::vector<int>{ 1, 0 }));
  constexpr std::size_t kMany = 100;
  std::vector<double> gains (kMany * kMany, 1);
  std::vector<int> wanted (kMany);
  for (std::size_t i = 0; i < kMany; i++) {
    wanted[i] = int ((i * 37 + 11) % kMany);
    gains[i * kMany + std::size_t (wanted[i])] = 3;
  }
  fail_unless (assign (gains, kMany, kMany) == wanted);
}

/// Rows and columns in groups that no gain connects, in any order, have the best pairs of each.
TEST (groups)
{
  constexpr std::size_t kGroups = 40, kSize = 3, kAll = kGroups * kSize;
  std::mt19937 random (2);
  std::vector<std::size_t> row_at (kAll), column_at (kAll);
  std::iota (row_at.begin (), row_at.end (), 0);
  std::iota (column_at.begin (), column_at.end (), 0);
  std::ranges::shuffle (row_at, random);
  std::ranges::shuffle (column_at, random);
  std::vector<double> gains (kAll * kAll, -1);
  double wanted = 0;
  for (std::size_t group = 0; group < kGroups; group++) {
    std::vector<double> its (kSize * kSize);
    for (std::size_t i = 0; i < its.size (); i++) {
      its[i] = double (random () % 100) / 10 - 2;
      gains[row_at[group * kSize + i / kSize] * kAll + column_at[group * kSize + i % kSize]] =
          its[i];
    }
    wanted += best_of_all (its, kSize, kSize);
  }
  const double got = sum_of (gains, kAll, assign (gains, kAll, kAll));
  fail_unless (std::abs (wanted - got) < 1e-9, "%g, must be %g", got, wanted);
}

/// A target takes the box at its place, even if the box shows another person in front; it does not
/// take a box elsewhere that looks unlike it. If two targets are close, looks decide.
TEST (places_and_looks)
{
  constexpr double kPixels = 640 * 480;
  const auto target = [] (double x, const Appearance &look) {
    const TargetBox box = { x, 100, 40, 100 };
    return Prediction{ { { box, 0.1 }, { box, 0.1 } }, look, 16, 1, 0.04, true, "" };
  };
  const auto detection = [] (double x, const Appearance &look) {
    return PreparedDetection{ { x, 100, 40, 100 }, look, "", true };
  };
  const Appearance red = { 1, 0, 0 }, blue = { 0, 1, 0 }, green = { 0, 0, 1 };
  const auto match = [] (std::vector<Prediction> targets,
                         std::vector<PreparedDetection> detections) {
    return match_detections (targets, detections, kPixels);
  };
  fail_unless (match ({ target (100, red) }, { detection (102, green) }) == std::vector{ 0 });
  fail_unless (match ({ target (100, red) }, { detection (300, green) }) == std::vector{ -1 });
  fail_unless (match ({ target (100, red), target (112, blue) },
                      { detection (102, blue), detection (110, red) })
               == (std::vector{ 1, 0 }));
}

/// Most targets are off by the camera's shift. Few targets, targets that disagree, and short
/// distances give no shift.
TEST (camera_shifts)
{
  const auto off_by = [] (const std::vector<Shift> &all) {
    std::vector<BoxPair> targets;
    for (const Shift &shift : all) {
      const TargetBox box = { 50.0 * double (targets.size ()), 20, 20, 50 };
      targets.push_back ({ box, shifted (box, shift) });
    }
    return targets;
  };
  // one of five walks against the camera, and the others by a pixel or two
  const auto shift =
      camera_shift (off_by ({ { 9, 4 }, { 11, 4 }, { -9, 0 }, { 10, 5 }, { 10, 4 } }));
  fail_unless (shift && shift->x == 10 && shift->y == 4);
  fail_unless (!camera_shift (off_by ({ { 10, 4 }, { 10, 4 }, { 10, 4 } })), "too few");
  fail_unless (!camera_shift (off_by ({ { 10, 0 }, { 10, 0 }, { -10, 0 }, { -10, 0 } })),
               "no agreement");
  fail_unless (!camera_shift (off_by ({ { 2, 0 }, { 2, 0 }, { 2, 1 }, { 2, 0 }, { 2, 0 } })),
               "their own motion");
}

/// A long silence counts as all the looks that are overdue. A detector that misses some frames
/// keeps its pace. A detector that is silent for long has no pace.
TEST (pace)
{
  DetectorPace pace;
  const auto looks = [&] (int frames, auto &&has_detections) {
    int looked = 0;
    for (int frame = 0; frame < frames; frame++)
      looked += int (pace.note (has_detections (frame)));
    return looked;
  };
  const auto never = [] (int) { return false; };
  fail_unless_equals_int (looks (50, never), 0);
  fail_unless (!pace.is_known ());
  fail_unless_equals_int (looks (100, [] (int frame) { return frame % 10 == 0; }), 10);
  fail_unless (pace.is_known ());
  const int looked =
      looks (100, [] (int frame) { return frame % 10 == 0 && frame != 30 && frame != 60; });
  fail_unless (looked == 8, "%d looks", looked);
  fail_unless_equals_int (looks (25, never), 0);
  const int silent = looks (75, never);
  fail_unless (silent == 9 || silent == 10, "%d looks", silent);
  fail_unless (pace.is_known ());
  looks (100, never);
  fail_unless (!pace.is_known ());  // after twenty intervals
  fail_unless_equals_int (looks (100, never), 0);
}

/// A detector slows down, up to three times at once: no silence counts, before its new pace is
/// known nor after. Then its silence counts by the new pace, and again by the old one after that.
TEST (slower_pace)
{
  for (unsigned usual : { 1u, 2u, 5u, 10u })
    for (unsigned slower = 2 * usual; slower <= 3 * usual; slower++) {
      DetectorPace pace;
      const auto every = [&] (unsigned gap, int gaps) {
        for (int i = 0; i < gaps; i++) {
          for (unsigned silence = 1; silence < gap; silence++)
            fail_unless (pace.note (false) == 0, "%u after %u: silence %u counts", gap, usual,
                         silence);
          fail_unless (pace.note (true) == 1);
        }
      };
      const auto silent_looks = [&] (unsigned frames) {
        unsigned looks = 0;
        for (unsigned i = 0; i < frames; i++)
          looks += pace.note (false);
        return looks;
      };
      every (usual, 12);
      every (slower, 2);
      fail_unless_equals_int (silent_looks (3 * slower - 1), 0);  // one that it misses, or two
      fail_unless (pace.note (true) == 1);
      every (slower, 9);
      fail_unless_equals_int (silent_looks (5 * slower + slower / 2), 5);
      fail_unless (pace.note (true) == 1);
      every (usual, 9);
      fail_unless_equals_int (silent_looks (5 * usual + usual / 2), 5);
    }
}

/// A new mean is as if a hundred detections had shown the usual speed of 0.05 heights a frame.
/// After very many detections the first speeds do not change the mean.
TEST (mean_speed)
{
  MeanSpeed mean;
  fail_unless (mean.relative () == 1);
  for (int i = 0; i < 9; i++)
    mean.add (0.15);
  fail_unless (std::abs (mean.relative () - (100 * 0.05 + 9 * 0.15) / 109 / 0.05) < 1e-9);
  for (int i = 0; i < 20000; i++)
    mean.add (i % 2 ? 0.02 : 0.03);
  fail_unless (std::abs (mean.relative () - 0.5) < 0.001, "%g", mean.relative ());
  for (int i = 0; i < 20000; i++)
    mean.add (0);
  fail_unless (mean.relative () == 0.2);
  mean = {};
  for (const double speed : { 1e300, HUGE_VAL, double (NAN) })
    mean.add (speed);
  fail_unless (std::abs (mean.relative () - (100 + 3 * 4.0) / 103) < 1e-9);
}

/// Boxes of 40x80 that move by 3 pixels to the right and 4 down move by 5 / 80 of their height.
TEST (speed_of_detections)
{
  Motion motion;
  for (int i = 0; i < 100; i++) {
    fail_unless (i > 1 || motion.speed () == 0);
    motion.note_detected ({ 3.0 * i, 4.0 * i, 40, 80 });
  }
  fail_unless (std::abs (motion.speed () - 5.0 / 80) < 1e-6, "%g", motion.speed ());
}

/// At half of the usual speed a target is as far from its expected place after twice the frames.
TEST (spread_grows_with_speed)
{
  const auto spreads = [] (double relative_speed, int unseen_frames) {
    TrackedTarget tracked;
    tracked.motion.note_detected ({ 100, 100, 40, 80 });
    for (int i = 0; i < unseen_frames; i++)
      tracked.motion.note_unseen ();
    const auto boxes = tracked.expected_boxes (relative_speed);
    return std::pair (boxes[0].spread, boxes[1].spread);
  };
  for (int frames = 1; frames < 30; frames++) {
    const auto slow = spreads (0.5, 2 * frames - 1), usual = spreads (1, frames - 1);
    fail_unless (slow == usual, "%d frames", frames);
    const auto sooner = spreads (0.5, frames - 1);
    fail_unless (sooner.first < usual.first && sooner.second < usual.second);
  }
}

/// A detection moves a box by spread^2 / (spread^2 + 0.1^2) of the distance.
TEST (correction)
{
  TrackedTarget tracked;
  tracked.n_detections = 1;
  for (const auto &[spread, share] :
       { std::pair (0.05, 0.2), std::pair (0.1, 0.5), std::pair (0.2, 0.8) }) {
    const TargetBox box = tracked.corrected ({ 10, 0, 40, 80 }, { { 0, 0, 40, 80 }, spread });
    fail_unless (std::abs (box.x - 10 * share) < 1e-9 && std::abs (box.y) < 1e-9
                     && std::abs (box.width - 40) < 1e-9,
                 "spread %g: %g", spread, box.x);
  }
}
