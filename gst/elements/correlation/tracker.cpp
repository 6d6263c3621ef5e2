// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracker.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "peak.hpp"

// The constants were chosen on sixteen sequences; docs/measurements says how, and what it is worth.
namespace integralhist {
namespace {

constexpr double kSurroundings = 4;  // sides of the square, for one of the target's
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
  return spectra_of (TRY (describe (frame, x, y, side ())));
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
  TRY (self.sizes_.learn (frame, x, y, width, height, 1));
  return self;
}

void CorrelationTracker::resize (double x_factor, double y_factor)
{
  x_ *= x_factor;
  y_ *= y_factor;
  width_ *= x_factor;
  height_ *= y_factor;
}

/// Looks at all shifts of the square with this middle; they count less from so many sides on.
Expected<CorrelationTracker::Found> CorrelationTracker::search (const FrameTensors &frame, double x,
                                                                double y, double reach) const
{
  const double cell = side () / kGrid;
  const std::vector<float> response = filter_.respond (TRY (surroundings (frame, x, y)));
  // the boxes of the outer shifts reach beyond the square
  const auto cells_with = [&] (double length) { return kGrid + 2 * int (length / cell / 2 + 1); };
  const int columns = cells_with (width ()), rows = cells_with (height ());
  const ScoreMap scores =
      TRY (ScoreMap::ask (frame.colours, colours_.scores (),
                          CellGrid::around (x, y, columns * cell, rows * cell, columns, rows)));

  const double per_peak = age_ > 1 ? 1 / std::max (1e-3, usual_peak_) : 1;
  std::vector<double> both (response.size ());
  for (int j = 0; j < kGrid; j++)
    for (int i = 0; i < kGrid; i++)
      both[j * kGrid + i] = (1 - kColours) * response[j * kGrid + i] * per_peak
                            + kColours
                                  * scores.score (x + shift_of (i) * cell, y + shift_of (j) * cell,
                                                  width (), height ());
  if (reach > 0) {
    const double spread = reach * std::sqrt (width () * height ()) / cell;
    for (int i = 0; i < kGrid * kGrid; i++)
      both[i] *=
          std::exp (-(std::pow (shift_of (i % kGrid), 2) + std::pow (shift_of (i / kGrid), 2))
                    / (2 * spread * spread));
  }
  const int best = int (std::ranges::max_element (both) - both.begin ());
  const int row = best / kGrid, column = best % kGrid;
  const auto at = [&] (int j, int i) {
    return both[(j + kGrid) % kGrid * kGrid + (i + kGrid) % kGrid];
  };
  Found found{};
  found.x = x
            + cell
                  * (shift_of (column)
                     + peak_between (at (row, column - 1), both[best], at (row, column + 1)));
  found.y = y
            + cell
                  * (shift_of (row)
                     + peak_between (at (row - 1, column), both[best], at (row + 1, column)));
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
    if (const Found found = TRY (search (frame, candidate.x, candidate.y));
        found.peak > kBetter * best.peak && looks_right (found))
      best = found;
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
  Found found = TRY (search (frame, x_ + motion.x, y_ + motion.y, motion.reach));
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
  return rate > 0 ? learn (frame, found, rate) : Expected<> ();
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
  return sizes_.learn (frame, x_, y_, width_, height_, 1);
}

Expected<> CorrelationTracker::learn (const FrameTensors &frame, const Found &found, double rate)
{
  scale_ *= TRY (sizes_.find (frame, x_, y_, width (), height ()));
  scale_ = std::clamp (scale_, kSmallest, kLargest);
  // a first box that is smaller than that may stay as small
  scale_ = std::max ({ scale_, std::min (1.0, kLeast / width_), std::min (1.0, kLeast / height_) });
  usual_peak_ += rate * kMemory * (found.peak - usual_peak_);
  usual_score_ += rate * kMemory * (found.score - usual_score_);
  TRY (colours_.learn (frame.colours, x_, y_, width (), height (), rate));
  if (age_ % 2 == 0)
    filter_.learn (TRY (surroundings (frame, x_, y_)), rate);
  return sizes_.learn (frame, x_, y_, width (), height (), rate);
}

}  // namespace integralhist
