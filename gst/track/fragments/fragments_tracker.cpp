// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fragments_tracker.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include <gst/track/base/median.hpp>

#include "frame_quality.hpp"

namespace integralhist {
namespace {

constexpr unsigned kMinGood = 5, kMaxGood = 30;  // the usual cost is the median of so many costs
// A lost target is found again at a cost up to this share of the way from the target's usual cost
// to its cost at the loss.
constexpr double kRedetectionShare = 0.5;
// Positions along an axis in a search for a lost target: about kCoarse, or for a small target more,
// up to kMaxCoarse.
constexpr int kCoarse = 31, kMaxCoarse = 128;
constexpr int kCandidates = 8;
constexpr double kScaleStep = 1.05, kScaleGain = 0.95;  // other scales must cost less

/// A search for a target, whose patches vote on a grid of positions of the target's box.
struct GridSearch {
  const PatchModels *models;
  double scale;
  int x, y;  // the middle of the search
  GstIntegralHistogramGrid grid;
  std::vector<GstVideoRectangle> patches;

  std::vector<double> costs = {};  // of the positions
  int best = 0;

  double cost () const { return costs[best]; }
  int x_of (int i) const { return grid.x + i % grid.columns * grid.step_x; }
  int y_of (int i) const { return grid.y + i / grid.columns * grid.step_y; }
  std::size_t n_positions () const { return std::size_t (grid.columns) * grid.rows; }
};

/// Returns the position of least cost; of equal ones the nearest to the search's middle, so that a
/// target on uniform ground stays. The query's answer would be the nearest to the grid's middle.
int best_position (const GridSearch &search)
{
  const auto distance = [&] (int i) {
    return std::hypot (search.x_of (i) - search.x, search.y_of (i) - search.y);
  };
  int best = 0;
  for (int i = 1; i < int (search.costs.size ()); i++)
    if (search.costs[i] < search.costs[best]
        || (search.costs[i] == search.costs[best] && distance (i) < distance (best)))
      best = i;
  return best;
}

/// Returns the best of a target's searches at several scales. Another scale must cost clearly less
/// than the present one.
const GridSearch &best_of (std::span<const GridSearch> scales)
{
  const GridSearch &same = scales[0];
  const GridSearch *best = &same;
  for (const GridSearch &other : scales.subspan (1))
    if (other.cost () < same.cost () * kScaleGain && other.cost () < best->cost ())
      best = &other;
  return *best;
}

/// Returns the positions of least cost, none of them next to another one.
std::vector<int> candidates_of (const GridSearch &search)
{
  std::vector<int> order (search.costs.size ());
  std::iota (order.begin (), order.end (), 0);
  std::ranges::stable_sort (order, {}, [&] (int i) { return search.costs[i]; });
  const int columns = search.grid.columns;
  std::vector<int> chosen;
  for (const int i : order) {
    if (chosen.size () == kCandidates)
      break;
    if (std::ranges::none_of (chosen, [&] (int other) {
          return std::abs (other % columns - i % columns) <= 1
                 && std::abs (other / columns - i / columns) <= 1;
        }))
      chosen.push_back (i);
  }
  return chosen;
}

}  // namespace

/// Looks for all targets of the fragments tracker in the tensor of one frame.
class FragmentsSearch {
public:
  FragmentsSearch (GstIntegralHistogram *histogram, const FragmentsSettings &settings,
                   unsigned lost_after)
      : histogram_ (histogram), settings_ (settings), lost_after_ (lost_after),
        width_ (tensor_of (histogram).shape.width), height_ (tensor_of (histogram).shape.height)
  {
  }

  Expected<> run (SoughtTargets<FragmentsTarget> targets)
  {
    std::vector<GridSearch> searches;
    std::vector<std::size_t> firsts;  // the first search of each target
    for (const auto &[target, motion] : targets) {
      firsts.push_back (searches.size ());
      TRY (prepare (*target, searches));
    }
    firsts.push_back (searches.size ());
    TRY (vote (searches));
    for (std::size_t i = 0; i < targets.size (); i++)
      if (const auto found = std::span (searches).subspan (firsts[i], firsts[i + 1] - firsts[i]);
          !found.empty ())
        TRY (targets[i].target->lost_ ? find_again (*targets[i].target, found[0])
                                      : judge_frame (*targets[i].target, found));
    return {};
  }

private:
  /// Starts a new target, or adds the searches for a known one.
  Expected<> prepare (FragmentsTarget &target, std::vector<GridSearch> &searches) const
  {
    if (!target.is_started_)
      clip_box (target.box_);
    forget_other_measure (target);
    const bool is_stale = has_other_bins (target);
    if (!target.is_started_ || (is_stale && !target.lost_))
      return start (target);
    if (is_stale || target.is_empty ())
      return {};  // the target stays lost
    if (target.lost_)
      searches.push_back (search_farther (target));
    else
      search_nearby (target, searches);
    return {};
  }

  /// Rounds a new target's box to whole pixels, and moves it inside the tensor.
  void clip_box (TargetBox &box) const
  {
    const auto inside = [] (double at, double least, double most) {
      return std::clamp (std::round (at), least, most);
    };
    const double x0 = inside (box.x, 0, width_ - 1),
                 x1 = inside (box.x + box.width, x0 + 1, width_);
    const double y0 = inside (box.y, 0, height_ - 1),
                 y1 = inside (box.y + box.height, y0 + 1, height_);
    box = { x0, y0, x1 - x0, y1 - y0 };
  }

  /// Forgets a target's costs if they are of another measure or quantile than the present ones.
  void forget_other_measure (FragmentsTarget &target) const
  {
    if (target.measure_ == settings_.measure && target.quantile_ == settings_.quantile)
      return;
    target.good_costs_.clear ();
    target.n_bad_frames_ = 0;
    target.loss_costs_.reset ();
    target.measure_ = settings_.measure;
    target.quantile_ = settings_.quantile;
  }

  bool has_other_bins (const FragmentsTarget &target) const
  {
    return target.patches_.bins () != gst_integral_histogram_get_bins (histogram_)
           || target.spec_ != spec_of (histogram_);
  }

  /// Learns the models of a target's patches; again if the bins have changed.
  Expected<> start (FragmentsTarget &target) const
  {
    PatchModels patches = TRY (PatchModels::learn (histogram_, target.box_, settings_.strips));
    if (has_other_bins (target))
      target.good_costs_.clear ();
    target.patches_ = std::move (patches);
    target.spec_ = spec_of (histogram_);
    target.is_started_ = true;
    target.lost_ = target.is_empty ();
    target.confidence_ = target.lost_ ? 0 : 1;
    target.n_bad_frames_ = 0;
    return {};
  }

  /// How far a search goes from its middle, and in which steps, in pixels.
  struct Reach {
    int range_x, range_y, step_x, step_y;
  };

  /// Makes a search of the positions around (x, y) at which a target's box is inside the frame.
  GridSearch search_around (const FragmentsTarget &target, double scale, int x, int y,
                            const Reach &reach) const
  {
    // Returns the first position along an axis, and the number of positions.
    const auto axis = [] (int at, int range, int step, int most) {
      int first = at - range / step * step;
      if (first < 0)
        first += (step - 1 - first) / step * step;
      const int last = std::min (at + range, most);
      return first <= last ? std::pair (first, (last - first) / step + 1)
                           : std::pair (std::clamp (at, 0, most), 1);
    };
    const auto &[range_x, range_y, step_x, step_y] = reach;
    const int right = std::max (0, width_ - round_half_to_even (target.box_.width * scale)),
              bottom = std::max (0, height_ - round_half_to_even (target.box_.height * scale));
    const auto [x0, columns] = axis (x, range_x, step_x, right);
    const auto [y0, rows] = axis (y, range_y, step_y, bottom);
    const GstIntegralHistogramGrid grid = { 1, 1, x0, y0, step_x, step_y, columns, rows };
    return { &target.patches_, scale, x, y, grid, target.patches_.rectangles (scale) };
  }

  /// Adds the searches within the search range of a target, at one scale or at three.
  void search_nearby (const FragmentsTarget &target, std::vector<GridSearch> &searches) const
  {
    const int range = int (settings_.search_range), x = round_half_to_even (target.box_.x),
              y = round_half_to_even (target.box_.y);
    for (const double scale : { 1.0, 1 / kScaleStep, kScaleStep })
      if (scale == 1 || (settings_.scale_search && is_possible (target.box_, scale)))
        searches.push_back (search_around (
            target, scale, round_half_to_even (x + target.box_.width * (1 - scale) / 2),
            round_half_to_even (y + target.box_.height * (1 - scale) / 2), { range, range, 1, 1 }));
  }

  bool is_possible (const TargetBox &box, double scale) const
  {
    constexpr double kMin = 8;  // pixels
    const double width = box.width * scale, height = box.height * scale;
    return (scale > 1 || (width >= kMin && height >= kMin)) && width <= width_ && height <= height_;
  }

  /// Makes the search for a lost target, farther from its box in each frame. A search recognises a
  /// target from within a quarter of its width and an eighth of its height, so steps are no longer,
  /// unless there would be too many.
  GridSearch search_farther (FragmentsTarget &target) const
  {
    target.radius_ =
        std::min (target.radius_ + int (settings_.search_range), std::max (width_, height_));
    const int side = 2 * target.radius_ + 1;
    const auto step = [&] (double longest) {
      return std::max (
          { 1, std::min ((side - 1) / kCoarse + 1, int (longest)), (side - 1) / kMaxCoarse + 1 });
    };
    return search_around (target, 1, round_half_to_even (target.box_.x),
                          round_half_to_even (target.box_.y),
                          { target.radius_, target.radius_, step (target.box_.width / 4),
                            step (target.box_.height / 8) });
  }

  /// Asks the tensor for the costs of all positions of the searches, and finds their best ones.
  Expected<> vote (std::span<GridSearch> searches) const
  {
    if (searches.empty ())
      return {};
    std::vector<GstIntegralHistogramSearch> queries;
    std::size_t positions = 0;
    for (const GridSearch &search : searches) {
      const guint n = guint (search.patches.size ());
      const guint rank = std::min (n - 1, guint (settings_.quantile * n));
      queries.push_back (
          { search.grid, search.patches.data (), n, search.models->models (), rank });
      positions += search.n_positions ();
    }
    std::vector<float> votes (positions);
    GError *problem = nullptr;
    if (!gst_integral_histogram_vote_maps (histogram_, queries.data (), guint (queries.size ()),
                                           settings_.measure, votes.data (), nullptr, &problem))
      return take_gerror (problem);
    const bool similarity = inthist::is_similarity (measure ());
    auto vote = votes.begin ();
    for (GridSearch &search : searches) {
      search.costs.resize (search.n_positions ());
      for (double &cost : search.costs)
        cost = similarity ? 1 - *vote++ : *vote++;
      search.best = best_position (search);
    }
    return {};
  }

  inthist::Measure measure () const { return inthist::Measure (settings_.measure); }

  static void move (FragmentsTarget &target, const GridSearch &search)
  {
    target.box_ = { double (search.x_of (search.best)), double (search.y_of (search.best)),
                    target.box_.width * search.scale, target.box_.height * search.scale };
    target.patches_.resize (search.scale, search.scale);
  }

  /// Grades the frame, moves the target to its best position, and learns from a good frame.
  Expected<> judge_frame (FragmentsTarget &target, std::span<const GridSearch> scales) const
  {
    const GridSearch &best = best_of (scales);
    const std::vector<double> &costs = scales[0].costs;
    std::optional<double> usual;
    if (target.good_costs_.size () >= kMinGood)
      usual = median ({ target.good_costs_.begin (), target.good_costs_.end () });
    const auto [share, moves, grade] = assess_frame (
        { best.cost (), median (costs), costs.size () }, usual, settings_, lost_after_);
    const TargetBox last = target.box_;
    if (moves)
      move (target, best);
    target.confidence_ = 1 - share;
    if (grade == FrameQuality::Grade::bad) {
      note_bad_frame (target, last, { *usual, best.cost () });
      return {};
    }
    target.n_bad_frames_ = 0;
    return grade == FrameQuality::Grade::good ? learn (target, best.cost ()) : Expected<> ();
  }

  /// Counts a bad frame, of which too many in a row lose the target. `last` is the box before it.
  void note_bad_frame (FragmentsTarget &target, const TargetBox &last,
                       const FragmentsTarget::LossCosts &costs) const
  {
    if (target.n_bad_frames_++ == 0)
      target.box_before_bad_ = last;
    if (target.n_bad_frames_ < lost_after_)
      return;
    target.lost_ = true;
    target.confidence_ = 0;
    const double scale = target.box_before_bad_.width / target.box_.width;
    target.patches_.resize (scale, scale);
    target.box_ = target.box_before_bad_;
    target.loss_costs_ = costs;
    target.radius_ = int (settings_.search_range);
  }

  /// Notes the cost of a target in a good frame, and updates its models if update_rate is set.
  Expected<> learn (FragmentsTarget &target, double cost) const
  {
    target.good_costs_.push_back (cost);
    if (target.good_costs_.size () > kMaxGood)
      target.good_costs_.pop_front ();
    return settings_.update_rate > 0 ? target.patches_.update (histogram_, target.box_, measure (),
                                                               settings_.update_rate, cost)
                                     : Expected<> ();
  }

  /// Looks for a lost target pixel by pixel, around the best positions of a coarse search.
  Expected<> find_again (FragmentsTarget &target, const GridSearch &coarse) const
  {
    std::vector<GridSearch> fine;
    for (const int i : candidates_of (coarse))
      fine.push_back (search_around (target, 1, coarse.x_of (i), coarse.y_of (i),
                                     { coarse.grid.step_x - 1, coarse.grid.step_y - 1, 1, 1 }));
    TRY (vote (fine));
    const GridSearch &best = *std::ranges::min_element (fine, {}, &GridSearch::cost);
    // if the measure has changed since the loss, the cost of then is unknown: this one replaces it
    if (!target.loss_costs_) {
      target.loss_costs_ = { 0, best.cost () };
      return {};
    }
    const auto [usual, cost] = *target.loss_costs_;
    if (best.cost () > usual + kRedetectionShare * std::max (0.0, cost - usual))
      return {};
    move (target, best);
    target.lost_ = false;
    target.n_bad_frames_ = 0;
    target.confidence_ = 1 - share_of_median (best.cost (), median (coarse.costs));
    return {};
  }

  GstIntegralHistogram *const histogram_;
  const FragmentsSettings settings_;
  const unsigned lost_after_;
  const int width_, height_;
};

void FragmentsTarget::restart (const TargetBox &box)
{
  box_ = box;
  is_started_ = lost_ = false;
}

void FragmentsTarget::resize (double x_factor, double y_factor)
{
  for (TargetBox *box : { &box_, &box_before_bad_ }) {
    *box = resized (*box, x_factor, y_factor);
    if (is_started_) {
      box->x = std::round (box->x);
      box->y = std::round (box->y);
    }
  }
  patches_.resize (x_factor, y_factor);
  good_costs_.clear ();
  radius_ = int (radius_ * std::max (x_factor, y_factor));
}

Expected<> track_by_fragments (GstIntegralHistogram *histogram, const FragmentsSettings &settings,
                               unsigned lost_after, SoughtTargets<FragmentsTarget> targets)
{
  return targets.empty () ? Expected<> ()
                          : FragmentsSearch (histogram, settings, lost_after).run (targets);
}

}  // namespace integralhist
