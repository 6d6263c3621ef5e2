// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracker.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <gst/integralhist/tasks.hpp>

#include "peak.hpp"

// The constants were chosen on sixteen sequences; docs/measurements says how, and what it is worth.
namespace integralhist {
namespace {

constexpr double kSurroundings = 4;  // sides of the square, for one of the target's
constexpr int kReach = 12;           // cells that the target may move, of kGrid / 2
constexpr double kColours = 0.3;     // of the sum of both responses
// Of the usual response: from where on something is learned, and all; the target moves; it is
// found again.
constexpr double kLearnsFrom = 0.3, kLearnsAll = 0.7, kMoves = 0.35, kFoundAgain = 0.6;
constexpr double kSure = 0.5;                                // below it a frame may lose the target
constexpr double kLeastScore = 0.5;                          // of the usual one
constexpr double kMemory = 0.02;                             // of what is usual
constexpr double kRemembered = 0.5;                          // of the filter, when corrected
constexpr double kOtherShape = 1.25;                         // of its sides' ratio: other cells
constexpr double kBetter = 1.2;                              // elsewhere than where it was lost
constexpr double kSmallest = 0.2, kLargest = 5, kLeast = 4;  // of the first size; pixels
constexpr std::size_t kCandidates = 3;
constexpr double kMostPlaces = 20000;  // of the frame, whose colours are looked at

std::size_t index_of (int row, int column)
{
  return std::size_t ((row + kGrid) % kGrid * kGrid + (column + kGrid) % kGrid);
}

int shift_of (int index)
{
  return index < kGrid / 2 ? index : index - kGrid;
}

}  // namespace

double CorrelationTracker::side () const
{
  return kSurroundings * std::sqrt (width () * height ());
}

bool CorrelationTracker::looks_right (const Found &found) const
{
  return found.score > kLeastScore * usual_score_;
}

Expected<Complexes> CorrelationTracker::surroundings (const FrameTensors &frame, double x,
                                                      double y) const
{
  static thread_local std::vector<float> channels;
  TRY (describe (frame, x, y, side (), channels));
  return spectra_of (channels);
}

Expected<CorrelationTracker> CorrelationTracker::start (const FrameTensors &frame, double x,
                                                        double y, double width, double height)
{
  CorrelationTracker self;
  self.x_ = x;
  self.y_ = y;
  self.width_ = width;
  self.height_ = height;
  const double cell = self.side () / kGrid;
  TRY (self.colours_.learn (frame.colours, x, y, width, height, 1));
  self.filter_.start (TRY (self.surroundings (frame, x, y)), width / cell, height / cell);
  self.sizes_.start (width, height);
  self.shape_ = width / height;
  self.sizes_.learn (TRY (self.sizes_.sample (frame, x, y, width, height)), 1);
  return self;
}

void CorrelationTracker::resize (double x_factor, double y_factor)
{
  x_ *= x_factor;
  y_ *= y_factor;
  width_ *= x_factor;
  height_ *= y_factor;
}

inthist::Region CorrelationTracker::region (const FrameTensors &frame,
                                            const ExpectedMotion &motion) const
{
  const double x = x_ + motion.x, y = y_ + motion.y, beyond = 2 * side () / kGrid;
  const auto edge = [] (double at, int most) { return int (std::clamp (at, 0.0, double (most))); };
  const double across = (side () + width ()) / 2 + beyond,
               down = (side () + height ()) / 2 + beyond;
  const int x0 = edge (x - across, frame.width ()), x1 = edge (x + across, frame.width ()),
            y0 = edge (y - down, frame.height ()), y1 = edge (y + down, frame.height ());
  return { x0, y0, x1 - x0, y1 - y0 };
}

/// Looks at all shifts of the square with this middle; they count less from so many sides on.
Expected<CorrelationTracker::Found> CorrelationTracker::search (const FrameTensors &frame, double x,
                                                                double y, double reach) const
{
  const double cell = side () / kGrid;
  Complexes spectra;
  std::vector<float> response;
  ScoreMap scores;
  TRY (in_parallel (2, [&] (int which) -> Expected<> {
    if (which == 0) {
      spectra = TRY (surroundings (frame, x, y));
      response = filter_.respond (spectra);
      return {};
    }
    // the boxes of the outer shifts reach beyond the square
    const auto cells_with = [&] (double length) {
      return 2 * (kReach + int (length / cell / 2 + 1));
    };
    const int columns = cells_with (width ()), rows = cells_with (height ());
    scores =
        TRY (ScoreMap::ask (frame.colours, colours_.scores (),
                            CellGrid::around (x, y, columns * cell, rows * cell, columns, rows)));
    return {};
  }));
  // colours are known of the nearer shifts
  std::vector<double> xs, ys;
  for (int shift = -kReach; shift <= kReach; shift++) {
    xs.push_back (x + shift * cell);
    ys.push_back (y + shift * cell);
  }
  const std::vector<double> near = scores.scores (xs, ys, width (), height ());
  const double per_peak = age_ > 1 ? 1 / std::max (1e-3, usual_peak_) : 1;
  std::vector<double> both (response.size ());
  const double *score = near.data ();
  for (int j = -kReach; j <= kReach; j++)
    for (int i = -kReach; i <= kReach; i++) {
      const std::size_t at = index_of (j, i);
      both[at] = (1 - kColours) * response[at] * per_peak + kColours * *score++;
    }
  if (reach > 0) {
    const double spread = reach * std::sqrt (width () * height ()) / cell;
    for (int i = 0; i < kGrid * kGrid; i++)
      both[i] *=
          std::exp (-(std::pow (shift_of (i % kGrid), 2) + std::pow (shift_of (i / kGrid), 2))
                    / (2 * spread * spread));
  }
  const int best = int (std::ranges::max_element (both) - both.begin ());
  const int row = best / kGrid, column = best % kGrid;
  const auto at = [&] (int j, int i) { return both[index_of (j, i)]; };
  Found found{};
  found.x = x
            + cell
                  * (shift_of (column)
                     + peak_between (at (row, column - 1), both[best], at (row, column + 1)));
  found.y = y
            + cell
                  * (shift_of (row)
                     + peak_between (at (row - 1, column), both[best], at (row + 1, column)));
  found.middle_x = x;
  found.middle_y = y;
  found.spectra = std::move (spectra);
  found.peak = response[best];
  found.sharpness = sharpness_of (response, row, column);
  found.score = scores.score (found.x, found.y, width (), height ());
  return found;
}

/// Looks at the places of the frame that have the target's colours, too.
Expected<CorrelationTracker::Found>
CorrelationTracker::search_everywhere (const FrameTensors &frame, Found best) const
{
  const double frame_width = frame.width (), frame_height = frame.height ();
  const double least = std::max (2.0, std::sqrt (frame_width * frame_height / kMostPlaces)),
               step_x = std::max (least, width () / 4), step_y = std::max (least, height () / 4);
  const ScoreMap scores =
      TRY (ScoreMap::ask (frame.colours, colours_.scores (),
                          { 0, 0, step_x, step_y, int (std::ceil (frame_width / step_x)),
                            int (std::ceil (frame_height / step_y)) }));
  struct Candidate {
    double score, x, y;
  };
  std::vector<Candidate> all, chosen;
  for (double y = height () / 2; y <= frame_height - height () / 2; y += step_y)
    for (double x = width () / 2; x <= frame_width - width () / 2; x += step_x)
      all.push_back ({ scores.score (x, y, width (), height ()), x, y });
  std::ranges::stable_sort (all, std::ranges::greater{}, &Candidate::score);
  const double apart = side () / 4;
  for (const Candidate &candidate : all) {
    if (chosen.size () == kCandidates)
      break;
    if (std::ranges::none_of (chosen, [&] (const Candidate &other) {
          return std::fabs (other.x - candidate.x) < apart
                 && std::fabs (other.y - candidate.y) < apart;
        }))
      chosen.push_back (candidate);
  }
  for (const Candidate &candidate : chosen)
    if (Found found = TRY (search (frame, candidate.x, candidate.y));
        found.peak > kBetter * best.peak && looks_right (found))
      best = std::move (found);
  return best;
}

/// Decides where the target is, and whether it is lost; returns how much to learn, 0 to 1.
double CorrelationTracker::judge (const Found &found, unsigned lost_after)
{
  const double share = found.peak / std::max (1e-6, usual_peak_);
  const bool right = looks_right (found);
  double rate =
      right ? std::clamp ((share - kLearnsFrom) / (kLearnsAll - kLearnsFrom), 0.0, 1.0) : 0;
  if (age_ == 1)
    rate = 1;
  evidence_ = { found.sharpness, share };
  unsure_ = confidence_of (evidence_) >= kSure ? 0 : unsure_ + 1;
  if (!lost_)
    lost_ = lost_after > 0 && unsure_ >= lost_after;
  else if (share > kFoundAgain && right)
    lost_ = false;
  else
    rate = 0;
  return rate;
}

Expected<> CorrelationTracker::follow (const FrameTensors &frame, unsigned lost_after,
                                       const ExpectedMotion &motion)
{
  age_++;
  Found found = {};
  const auto searched = in_parallel (example_ ? 2 : 1, [&] (int which) -> Expected<> {
    if (which == 0)
      found = TRY (search (frame, x_ + motion.x, y_ + motion.y, motion.reach));
    else
      filter_.learn (example_->spectra, example_->rate);
    return {};
  });
  if (example_)
    filter_.renew ();
  example_.reset ();
  TRY (searched);
  if (age_ == 1) {
    usual_peak_ = found.peak;
    usual_score_ = found.score;
  }
  if (lost_)
    found = TRY (search_everywhere (frame, found));
  const double rate = judge (found, lost_after);
  if (!lost_ && found.peak >= kMoves * usual_peak_) {
    x_ = std::clamp (found.x, 0.0, double (frame.width ()));
    y_ = std::clamp (found.y, 0.0, double (frame.height ()));
  }
  return rate > 0 ? learn (frame, std::move (found), rate) : Expected<> ();
}

Expected<> CorrelationTracker::correct (const FrameTensors &frame, double x, double y, double width,
                                        double height)
{
  x_ = x;
  y_ = y;
  width_ = width;
  height_ = height;
  scale_ = 1;
  age_ = 0;
  lost_ = false;
  unsure_ = 0;
  example_.reset ();
  TRY (colours_.learn (frame.colours, x_, y_, width_, height_, 1));
  const double cell = side () / kGrid;
  CorrelationFilter fresh;
  fresh.start (TRY (surroundings (frame, x_, y_)), width / cell, height / cell);
  fresh.remember (filter_, kRemembered);
  filter_ = std::move (fresh);
  const double shape = width / height;
  if (std::max (shape / shape_, shape_ / shape) > kOtherShape) {
    sizes_.start (width, height);
    shape_ = shape;
  }
  sizes_.learn (TRY (sizes_.sample (frame, x_, y_, width_, height_)), 1);
  return {};
}

/// Returns the spectra of the target's surroundings. Those of what was searched do, moved, where
/// the target is not far from the middle: the border is faded out.
Expected<Complexes> CorrelationTracker::surroundings (const FrameTensors &frame, Found &found) const
{
  constexpr double kMostMoved = 2;  // cells
  const double cell = side () / kGrid, x = (found.middle_x - x_) / cell,
               y = (found.middle_y - y_) / cell;
  if (std::max (std::fabs (x), std::fabs (y)) > kMostMoved)
    return surroundings (frame, x_, y_);
  move (found.spectra, x, y);
  return std::move (found.spectra);
}

Expected<> CorrelationTracker::learn (const FrameTensors &frame, Found found, double rate)
{
  usual_peak_ += rate * kMemory * (found.peak - usual_peak_);
  usual_score_ += rate * kMemory * (found.score - usual_score_);
  if (age_ % 2 == 1) {  // the filter and the sizes take turns; after a new box it is first
    TRY (colours_.learn (frame.colours, x_, y_, width (), height (), rate));
    example_ = { TRY (surroundings (frame, found)), rate };
    return {};
  }
  scale_ *= sizes_.find (TRY (sizes_.sample (frame, x_, y_, width (), height ())));
  scale_ = std::clamp (scale_, kSmallest, kLargest);
  // a first box that is smaller than that may stay as small
  scale_ = std::max ({ scale_, std::min (1.0, kLeast / width_), std::min (1.0, kLeast / height_) });
  sizes_.learn (TRY (sizes_.sample (frame, x_, y_, width (), height ())), rate);
  return colours_.learn (frame.colours, x_, y_, width (), height (), rate);
}

}  // namespace integralhist
