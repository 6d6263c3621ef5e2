// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracker.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include <gst/integralhist/base/tasks.hpp>

#include "shift_map.hpp"

// A step has these stages. Each one queues what it needs of the frame; run_round () asks for all
// trackers together, and go_on () takes the answers and enters the next stage:
//
//   start             learns the filter, the sizes and the colours of a box ──► done
//   search            finds the best shift near the expected place ──► learn_place or find_size, in
//                     turns; done, if nothing is learned; search_elsewhere, if the target is lost
//   search_elsewhere  compares the places of the frame that have its colours ──► as search
//   learn_place       learns the colours, and makes the example that the filter learns from during
//                     the next step ──► done
//   find_size         finds the size of the box ──► learn_size
//   learn_size        learns the sizes and the colours ──► done
//
// The constants were chosen on sixteen sequences, and kColourWeight and what makes a confidence on
// thirty; docs/measurements says how, and what it is worth.
namespace integralhist {
namespace {

using namespace inthist::correlation;

constexpr double kPadding = 4;          // sides of the square, for one of the target's
constexpr double kColourWeight = 0.55;  // of the sum of both responses
// Shares of the usual response.
constexpr double kLearningThreshold = 0.3;     // above it something is learned,
constexpr double kFullLearning = 0.7;          // and from here on with the whole rate
constexpr double kResponseThreshold = 0.35;    // from here on the target moves
constexpr double kRedetectionThreshold = 0.6;  // above it a lost target is found again
constexpr double kConfidenceThreshold = 0.12;  // below it a frame may lose the target
constexpr double kColourThreshold = 0.5;       // of the usual one
constexpr double kAverageRate = 0.02;          // of what is usual
constexpr double kKeptShare = 0.5;             // of the filter, when corrected
constexpr double kAspectThreshold = 1.25;      // of its sides' ratio: other cells
constexpr double kElsewhereGain = 1.2;         // elsewhere than where it was lost
constexpr double kMinScale = 0.2, kMaxScale = 5, kMinSize = 4;  // of the first size; pixels
constexpr std::size_t kCandidates = 3;
constexpr double kMaxWindows = 20000;  // of the frame, whose colours are looked at

}  // namespace

double CorrelationTracker::side () const
{
  return kPadding * std::sqrt (width () * height ());
}

bool CorrelationTracker::matches_colours (const Match &match) const
{
  return match.score > kColourThreshold * usual_score_;
}

void CorrelationTracker::enter_stage (Stage next)
{
  stage_ = next;
  queries_.clear ();
  searches_.clear ();
}

void CorrelationTracker::queue_square (const FrameTensors &frame, const CellGrid &square)
{
  CellEdges edges = CellEdges::of (square, frame.width (), frame.height ());
  if (uses_device_filter_) {
    queries_.filter.square = std::move (edges);
    queries_.filter.makes_example = stage_ == Stage::learn_place || stage_ == Stage::start;
    queries_.filter.scale = cell_scale_of (frame, square);
    queries_.filter.filter = device_filter_.get ();
    return;
  }
  queries_.gradients.grids.push_back (edges);
  queries_.luma.grids.push_back (std::move (edges));
}

void CorrelationTracker::queue_sizes (const FrameTensors &frame)
{
  for (const CellGrid &grid : sizes_.grids (x_, y_, width (), height ())) {
    CellEdges edges = CellEdges::of (grid, frame.width (), frame.height ());
    if (frame.filters) {
      queries_.sample.grids.push_back (std::move (edges));
      queries_.sample.scales.push_back (cell_scale_of (frame, grid).per_length);
    } else {
      queries_.sizes.grids.push_back (std::move (edges));
    }
  }
}

void CorrelationTracker::queue_boxes ()
{
  queries_.boxes = ColourModel::boxes (x_, y_, width (), height ());
}

/// Returns the spectra of the square with this middle, the which-th that was asked for.
Complexes CorrelationTracker::surroundings (const FrameTensors &frame, double x, double y,
                                            std::size_t which) const
{
  static thread_local std::vector<float> channels;
  const auto sums_of_square = [which] (const CellGridQuery &query) {
    const std::size_t n = query.sums.size () / query.grids.size ();
    return std::span (query.sums).subspan (which * n, n);
  };
  describe (frame, square_around (x, y, side ()), sums_of_square (queries_.gradients),
            sums_of_square (queries_.luma), channels);
  return spectra_of (channels);
}

/// Returns the sample of the box's sizes, which was asked for.
ScaleFilter::Sample CorrelationTracker::sizes (const FrameTensors &frame) const
{
  if (!queries_.sample.grids.empty ())
    return queries_.sample.sample;
  return sizes_.sample (frame, sizes_.grids (x_, y_, width (), height ()), queries_.sizes.sums);
}

Expected<> CorrelationTracker::start (const FrameTensors &frame)
{
  return correct (frame, x_, y_, width_, height_);
}

Expected<> CorrelationTracker::correct (const FrameTensors &frame, double x, double y, double width,
                                        double height)
{
  example_.reset ();
  TRY (frame.filters ? enter_device (frame.filters) : leave_device ());
  x_ = x;
  y_ = y;
  width_ = width;
  height_ = height;
  scale_ = 1;
  age_ = 0;
  lost_ = false;
  unsure_ = 0;
  const double shape = width / height;
  if (shape_ == 0 || std::max (shape / shape_, shape_ / shape) > kAspectThreshold) {
    sizes_.start (width, height);
    shape_ = shape;
  }
  enter_stage (Stage::start);
  queue_square (frame, square_around (x_, y_, side ()));
  if (uses_device_filter_) {
    queries_.filter.start = filter_box ();
    queries_.filter.kept = filter_.has_started () ? float (kKeptShare) : 0;
  }
  queue_sizes (frame);
  queue_boxes ();
  return {};
}

/// Returns the target's box in the cells of its surroundings.
FilterBox CorrelationTracker::filter_box () const
{
  const double cell = side () / kGrid;
  return { width () / cell, height () / cell };
}

void CorrelationTracker::learn_start (const FrameTensors &frame)
{
  colours_.learn (queries_.counts, 1);
  if (uses_device_filter_) {
    filter_.note_started (*std::exchange (queries_.filter.start, std::nullopt));
  } else {
    CorrelationFilter fresh;
    fresh.start (surroundings (frame, x_, y_), filter_box ());
    if (filter_.has_started ())
      fresh.remember (filter_, kKeptShare);
    filter_ = std::move (fresh);
  }
  sizes_.learn (sizes (frame), 1);
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

/// Asks for what one more search looks at.
void CorrelationTracker::queue_search (const FrameTensors &frame, double x, double y, double reach)
{
  const double cell = side () / kGrid;
  // the boxes of the outer shifts reach beyond the square
  const auto cells_with = [&] (double length) {
    return 2 * (kSearchRadius + int (length / cell / 2 + 1));
  };
  const int columns = cells_with (width ()), rows = cells_with (height ());
  const std::size_t first =
      searches_.empty () ? 0 : searches_.back ().first_score + searches_.back ().scores.n_cells ();
  searches_.push_back (
      { { x, y },
        reach,
        ScoreMap (CellGrid::around (x, y, columns * cell, rows * cell, columns, rows),
                  frame.width (), frame.height ()),
        first });
  queue_square (frame, square_around (x, y, side ()));
  searches_.back ().scores.queue_cells (colours_.scores (), queries_.scores);
}

/// Returns the best of all shifts of a search.
CorrelationTracker::Match CorrelationTracker::best_of_search (const FrameTensors &frame,
                                                              std::size_t which) const
{
  const Search &search = searches_[which];
  const auto [x, y] = search.middle;
  const double cell = side () / kGrid;
  ScoreMap scores = search.scores;
  if (!queries_.scores.grids.empty ())
    scores.set_sums (
        std::span (queries_.scores.sums).subspan (search.first_score, scores.n_cells ()));
  Complexes spectra = uses_device_filter_ ? Complexes () : surroundings (frame, x, y, which);
  const std::vector<float> response =
      uses_device_filter_ ? queries_.filter.response : filter_.respond (spectra);
  // colours are known of the nearer shifts
  std::vector<double> xs, ys;
  for (int shift = -kSearchRadius; shift <= kSearchRadius; shift++) {
    xs.push_back (x + shift * cell);
    ys.push_back (y + shift * cell);
  }
  const std::vector<double> near = scores.scores (xs, ys, width (), height ());
  const double per_peak = age_ > 1 ? 1 / std::max (1e-3, usual_peak_) : 1;
  const ShiftWeights weights (search.reach * std::sqrt (width () * height ()) / cell);
  const double *score = near.data ();
  const std::vector<double> combined = weighted_map (weights, [&] (std::size_t i) {
    return (1 - kColourWeight) * response[i] * per_peak + kColourWeight * *score++;
  });
  const int best = int (std::ranges::max_element (combined) - combined.begin ());
  const int row = best / kGrid, column = best % kGrid;
  // Behind a detector the filter has learned the place lately. Then only the filter tells the part
  // of a cell: uneven colours would pull the box.
  const bool has_velocity = search.reach > 0;
  const auto [right, down] =
      has_velocity ? peak_near (weighted_map (weights, [&] (std::size_t i) { return response[i]; }),
                                row, column)
                   : peak_near (combined, row, column);
  Match match{};
  match.x = x + cell * right;
  match.y = y + cell * down;
  match.middle_x = x;
  match.middle_y = y;
  match.spectra = std::move (spectra);
  match.peak = response[best];
  match.sharpness = sharpness_of (response, row, column);
  match.score = scores.score (match.x, match.y, width (), height ());
  return match;
}

/// Asks for the places of the frame that have the target's colours, too.
void CorrelationTracker::queue_frame_search (const FrameTensors &frame)
{
  const double frame_width = frame.width (), frame_height = frame.height (),
               least = std::max (2.0, std::sqrt (frame_width * frame_height / kMaxWindows)),
               step_x = std::max (least, width () / 4), step_y = std::max (least, height () / 4);
  everywhere_ = { ScoreMap ({ 0, 0, step_x, step_y, int (std::ceil (frame_width / step_x)),
                              int (std::ceil (frame_height / step_y)) },
                            frame.width (), frame.height ()),
                  {},
                  {} };
  for (double x = width () / 2; x <= frame_width - width () / 2; x += step_x)
    everywhere_.x.push_back (x);
  for (double y = height () / 2; y <= frame_height - height () / 2; y += step_y)
    everywhere_.y.push_back (y);
  everywhere_.scores.queue_cells (colours_.scores (), queries_.scores);
}

/// Returns the places with the highest scores of which none is near another. Of equals the first
/// counts.
std::vector<CorrelationTracker::Spot> CorrelationTracker::candidates ()
{
  auto &[map, xs, ys] = everywhere_;
  if (!queries_.scores.grids.empty ())
    map.set_sums (std::span (queries_.scores.sums).last (map.n_cells ()));
  const std::vector<double> scores = map.scores (xs, ys, width (), height ());
  const double apart = side () / 4;
  std::vector<Spot> chosen;
  const auto is_near = [&] (double x, double y) {
    return std::ranges::any_of (chosen, [&] (const Spot &other) {
      return std::fabs (other.x - x) < apart && std::fabs (other.y - y) < apart;
    });
  };
  while (chosen.size () < kCandidates) {
    std::optional<Spot> best;
    double highest = 0;
    const double *next = scores.data ();
    for (const double y : ys)
      for (const double x : xs)
        if (const double score = *next++; (!best || score > highest) && !is_near (x, y)) {
          best = { x, y };
          highest = score;
        }
    if (!best)
      break;
    chosen.push_back (*best);
  }
  return chosen;
}

/// Decides where the target is, and whether it is lost; returns how much to learn, 0 to 1.
double CorrelationTracker::assess_match (const Match &match, unsigned lost_after)
{
  const double share = match.peak / std::max (1e-6, usual_peak_);
  const bool right = matches_colours (match);
  double rate = right ? std::clamp (
                    (share - kLearningThreshold) / (kFullLearning - kLearningThreshold), 0.0, 1.0)
                      : 0;
  if (age_ == 1)
    rate = 1;
  evidence_ = { match.sharpness, share, match.score / std::max (0.05, usual_score_) };
  // a target that never is lost must learn what it looks like now
  if (age_ == 1 || lost_after == 0)
    disappearance_.start (evidence_);
  else if (!lost_)
    disappearance_.note (evidence_);
  unsure_ = match_confidence (evidence_) >= kConfidenceThreshold ? 0 : unsure_ + 1;
  if (!lost_) {
    if (disappearance_.frames () > 0)
      rate = 0;
    lost_ = lost_after > 0 && (unsure_ >= lost_after || disappearance_.frames () > lost_after);
  } else if (share > kRedetectionThreshold && right) {
    lost_ = false;
    disappearance_.start (evidence_, disappearance_.age ());
  } else {
    rate = 0;
  }
  return rate;
}

Expected<> CorrelationTracker::follow (const FrameTensors &frame, unsigned lost_after,
                                       const ExpectedMotion &motion)
{
  // what is lost is looked for in several places
  TRY (frame.filters && !lost_ ? enter_device (frame.filters) : leave_device ());
  age_++;
  lost_after_ = lost_after;
  enter_stage (Stage::search);
  queue_search (frame, x_ + motion.x, y_ + motion.y, motion.reach);
  if (lost_)
    queue_frame_search (frame);
  if (uses_device_filter_ && example_)
    queries_.filter.rate = example_->rate;
  return {};
}

/// Looks for the target where it was.
void CorrelationTracker::on_search_results (const FrameTensors &frame)
{
  Match match = best_of_search (frame, 0);
  if (uses_device_filter_)
    example_.reset ();  // the GPU learns from it
  if (age_ == 1) {
    usual_peak_ = match.peak;
    usual_score_ = match.score;
  }
  const auto elsewhere = lost_ ? candidates () : std::vector<Spot> ();
  if (elsewhere.empty ())
    return apply_match (frame, std::move (match));
  match_ = std::move (match);
  enter_stage (Stage::search_elsewhere);
  for (const auto &[x, y] : elsewhere)
    queue_search (frame, x, y, 0);
}

/// Looks for a lost target at the candidates.
Expected<> CorrelationTracker::on_candidate_results (const FrameTensors &frame)
{
  std::vector<Match> all (searches_.size ());
  TRY (in_parallel (int (all.size ()), [&] (int i) -> Expected<> {
    all[std::size_t (i)] = best_of_search (frame, std::size_t (i));
    return {};
  }));
  for (Match &match : all)
    if (match.peak > kElsewhereGain * match_.peak && matches_colours (match))
      match_ = std::move (match);
  apply_match (frame, std::move (match_));
  return {};
}

/// Decides where the target is, and asks for what is learned.
void CorrelationTracker::apply_match (const FrameTensors &frame, Match match)
{
  rate_ = assess_match (match, lost_after_);
  if (!lost_ && match.peak >= kResponseThreshold * usual_peak_) {
    x_ = std::clamp (match.x, 0.0, double (frame.width ()));
    y_ = std::clamp (match.y, 0.0, double (frame.height ()));
  }
  if (rate_ > 0)
    queue_learning (frame, std::move (match));
  else
    enter_stage (Stage::done);
}

/// The filter and the sizes take turns; after a new box the filter is first.
void CorrelationTracker::queue_learning (const FrameTensors &frame, Match match)
{
  constexpr double kMaxMoved = 2;  // cells
  usual_peak_ += rate_ * kAverageRate * (match.peak - usual_peak_);
  usual_score_ += rate_ * kAverageRate * (match.score - usual_score_);
  if (age_ % 2 == 0) {
    enter_stage (Stage::find_size);
    queue_sizes (frame);
    return;
  }
  enter_stage (Stage::learn_place);
  queue_boxes ();
  // The target's surroundings are what was searched, moved, where it is not far from the middle:
  // the border is faded out.
  const double cell = side () / kGrid, x = (match.middle_x - x_) / cell,
               y = (match.middle_y - y_) / cell;
  spectra_ = {};
  if (std::max (std::fabs (x), std::fabs (y)) > kMaxMoved) {
    queue_square (frame, square_around (x_, y_, side ()));
  } else if (uses_device_filter_) {
    queries_.move = { device_filter_.get (), phase_factors (x, y) };
  } else {
    shift_spectra (match.spectra, x, y);
    spectra_ = std::move (match.spectra);
  }
}

void CorrelationTracker::learn_place (const FrameTensors &frame)
{
  colours_.learn (queries_.counts, rate_);
  if (spectra_.size () == 0 && !uses_device_filter_)
    spectra_ = surroundings (frame, x_, y_);
  example_ = { std::move (spectra_), rate_ };
  enter_stage (Stage::done);
}

void CorrelationTracker::find_size (const FrameTensors &frame)
{
  ScaleFilter::Sample sample = sizes (frame);
  const double before = scale_;
  scale_ = std::clamp (scale_ * sizes_.find (sample), kMinScale, kMaxScale);
  // a first box that is smaller than that may stay as small
  scale_ =
      std::max ({ scale_, std::min (1.0, kMinSize / width_), std::min (1.0, kMinSize / height_) });
  enter_stage (Stage::learn_size);
  queue_boxes ();
  if (ScaleFilter::resize (sample, scale_ / before))
    sizes_.learn (sample, rate_);
  else
    queue_sizes (frame);
}

void CorrelationTracker::learn_size (const FrameTensors &frame)
{
  colours_.learn (queries_.counts, rate_);
  if (!queries_.sizes.grids.empty () || !queries_.sample.grids.empty ())
    sizes_.learn (sizes (frame), rate_);
  enter_stage (Stage::done);
}

Expected<> CorrelationTracker::go_on (const FrameTensors &frame)
{
  switch (stage_) {
    case Stage::done: break;
    case Stage::start:
      learn_start (frame);
      enter_stage (Stage::done);
      break;
    case Stage::search: on_search_results (frame); break;
    case Stage::search_elsewhere: return on_candidate_results (frame);
    case Stage::learn_place: learn_place (frame); break;
    case Stage::find_size: find_size (frame); break;
    case Stage::learn_size: learn_size (frame); break;
  }
  return {};
}

namespace {

/// Has all queries asked, and goes on with the answers. Returns whether there were any.
Expected<bool> run_round (const FrameTensors &frame, std::span<CorrelationTracker *const> trackers)
{
  std::vector<CorrelationTracker *> asking;
  std::vector<FrameQueries *> queries;
  for (CorrelationTracker *const tracker : trackers)
    if (FrameQueries *const tracker_queries = tracker->queries ()) {
      asking.push_back (tracker);
      queries.push_back (tracker_queries);
    }
  if (asking.empty ())
    return false;
  TRY (run_queries (frame, queries));
  TRY (in_parallel (int (asking.size ()),
                    [&] (int i) { return asking[std::size_t (i)]->go_on (frame); }));
  return true;
}

}  // namespace

Expected<> finish (const FrameTensors &frame, std::span<CorrelationTracker *const> trackers)
{
  std::vector<CorrelationTracker *> learning;
  std::ranges::copy_if (trackers, std::back_inserter (learning), &CorrelationTracker::learns);
  const auto first = in_parallel (1 + int (learning.size ()), [&] (int i) -> Expected<> {
    if (i == 0)
      TRY (run_round (frame, trackers));
    else
      learning[std::size_t (i - 1)]->learn ();
    return {};
  });
  for (CorrelationTracker *const tracker : learning)
    tracker->renew ();
  TRY (first);
  while (TRY (run_round (frame, trackers)))
    ;
  return {};
}

}  // namespace integralhist
