// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fragments_tracker.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <kernels/likeness.hpp>

#include <gst/integralhist/api/histogram.hpp>
#include <gst/track/base/median.hpp>

namespace integralhist {

namespace {

// The least cost of a target's positions in a bad and in a suspicious frame, as a multiple of the
// usual cost, and as a share of the median cost (fragments_tracker.hpp).
constexpr double kBadCost = 1.8, kBadShare = 0.9, kSuspiciousCost = 1.3, kSuspiciousShare = 0.8;
constexpr unsigned kMinGood = 5, kMaxGood = 30;  // the usual cost is the median of so many costs
// A lost target is found again at a cost up to this share of the way from the target's usual cost
// to its cost at the loss.
constexpr double kRedetectionShare = 0.5;
// Positions along an axis in a search for a lost target: about kCoarse, or for a small target more,
// up to kMaxCoarse.
constexpr int kCoarse = 31, kMaxCoarse = 128;
constexpr int kCandidates = 8;
// Measures are not exact: two costs are equal if they differ by less than a share of kCostTolerance
// (by less than kCostTolerance if they are below 1).
constexpr double kCostTolerance = 1e-5;
constexpr double kScaleStep = 1.05, kScaleGain = 0.95;  // other scales must cost less

int lrint_of (double x)
{
  return int (std::lrint (x));
}

/// Returns the least cost as a share of the median cost: near 0 if one position stands out, or 1.
double share_of_median (double cost, double median)
{
  return median - cost <= kCostTolerance * std::max (1.0, median) ? 1 : cost / median;
}

/// A search for a target, whose patches vote on a grid of positions of the target's box.
struct Search {
  const FragmentsTarget *target;
  double scale;
  int x, y;
  GstIntegralHistogramGrid grid;
  std::vector<GstVideoRectangle> patches;

  std::vector<double> costs;
  int best = 0;

  double cost () const { return costs[best]; }
  int x_of (int i) const { return grid.x + i % grid.columns * grid.step_x; }
  int y_of (int i) const { return grid.y + i / grid.columns * grid.step_y; }
};

}  // namespace

FrameQuality assess_frame (const FrameCosts &costs, std::optional<double> usual,
                           const FragmentsSettings &settings, unsigned lost_after)
{
  const double share = share_of_median (costs.least, costs.median);
  const auto costs_more = [&] (double times) {
    return usual && costs.least > times * *usual + kCostTolerance;
  };
  // The least cost can be compared with the median only if there are at least half as many
  // positions as in a search away from the frame's border.
  const double side = 2.0 * settings.search_range + 1;
  const bool telling = double (costs.positions) >= side * side / 2;
  const bool all_same = share == 1 && !costs_more (kBadCost);
  const bool stands_out = share <= 1 - settings.min_confidence || all_same || !telling;
  const bool bad = usual && lost_after > 0
                   && ((costs_more (kBadCost) && (share > kBadShare || !telling)) || !stands_out);
  const bool suspicious = costs_more (kSuspiciousCost) && share > kSuspiciousShare;
  return { share, !all_same,
           bad          ? FrameQuality::Grade::bad
           : suspicious ? FrameQuality::Grade::suspicious
                        : FrameQuality::Grade::good };
}

/// Looks for all targets of the fragments tracker in the tensor of one frame.
class FragmentsSearch {
public:
  FragmentsSearch (GstIntegralHistogram *histogram, const FragmentsSettings &settings,
                   unsigned lost_after)
      : histogram_ (histogram), settings_ (settings), lost_after_ (lost_after),
        width_ (int (gst_integral_histogram_get_width (histogram))),
        height_ (int (gst_integral_histogram_get_height (histogram))),
        bins_ (gst_integral_histogram_get_bins (histogram))
  {
  }

  Expected<> run (std::span<FragmentsTarget *const> targets)
  {
    std::vector<Search> searches;
    std::vector<std::size_t> firsts;
    for (FragmentsTarget *target : targets) {
      fit (*target);
      firsts.push_back (searches.size ());
      const bool is_stale = target->bins_ != bins_ || target->spec_ != spec_of (histogram_);
      if (!target->is_started_ || (is_stale && !target->lost_))
        TRY (start (*target));
      else if (is_stale || target->is_empty ())
        continue;  // the target stays lost
      else if (target->lost_)
        searches.push_back (look_everywhere (*target));
      else
        look_nearby (*target, searches);
    }
    TRY (ask (searches));
    firsts.push_back (searches.size ());
    for (std::size_t i = 0; i < targets.size (); i++)
      if (const auto found = std::span (searches).subspan (firsts[i], firsts[i + 1] - firsts[i]);
          found.empty ())
        continue;
      else if (targets[i]->lost_)
        TRY (find_again (*targets[i], found[0]));
      else
        TRY (judge_frame (*targets[i], found));
    return {};
  }

private:
  using Patch = FragmentsTarget::Patch;

  /// Moves a new target's box inside the tensor. Forgets costs that another measure has given.
  void fit (FragmentsTarget &target) const
  {
    if (!std::exchange (target.is_box_clipped_, true)) {
      const auto inside = [] (double at, double least, double most) {
        return std::clamp (std::round (at), least, most);
      };
      const TargetBox &box = target.box_;
      const double x0 = inside (box.x, 0, width_ - 1),
                   x1 = inside (box.x + box.width, x0 + 1, width_);
      const double y0 = inside (box.y, 0, height_ - 1),
                   y1 = inside (box.y + box.height, y0 + 1, height_);
      target.box_ = { x0, y0, x1 - x0, y1 - y0 };
    }
    if (target.measure_ != settings_.measure
        || target.quantile_ != settings_.quantile) {  // costs of another kind
      target.good_costs_.clear ();
      target.n_bad_frames_ = 0;
      target.loss_costs_.reset ();
      target.measure_ = settings_.measure;
      target.quantile_ = settings_.quantile;
    }
  }

  /// Adds as many whole patches of one size as fit into a box, centred, to the list of patches.
  static void tile (std::vector<Patch> &patches, int width, int height, int patch_width,
                    int patch_height)
  {
    const int columns = std::max (1, width / patch_width),
              rows = std::max (1, height / patch_height);
    const int w = std::min (width, patch_width), h = std::min (height, patch_height);
    const int x = (width - columns * w) / 2, y = (height - rows * h) / 2;
    for (int j = 0; j < rows; j++)
      for (int i = 0; i < columns; i++)
        patches.push_back ({ double (x + i * w), double (y + j * h), double (x + (i + 1) * w),
                             double (y + (j + 1) * h) });
  }

  /// Cuts a target's box into patches, and learns their models; again if the bins have changed.
  Expected<> start (FragmentsTarget &target)
  {
    const int width = std::max (1, lrint_of (target.box_.width)),
              height = std::max (1, lrint_of (target.box_.height));
    const auto thin = [&] (int side) {
      return 2 * std::max (1, lrint_of (double (side) / (2 * settings_.strips)));
    };
    const auto half = [] (int side) { return 2 * std::max (1, side / 4); };
    target.patches_.clear ();
    tile (target.patches_, width, height, half (width), thin (height));
    tile (target.patches_, width, height, thin (width), half (height));
    target.models_ = TRY (histograms (patches_at (target, 1, true)));
    drop_empty (target);
    if (target.bins_ != bins_ || target.spec_ != spec_of (histogram_))
      target.good_costs_.clear ();  // costs of another kind
    target.is_started_ = true;
    target.bins_ = bins_;
    target.spec_ = spec_of (histogram_);
    target.lost_ = target.models_.empty ();
    target.confidence_ = target.lost_ ? 0 : 1;
    target.n_bad_frames_ = 0;
    return {};
  }

  /// Drops patches without a pixel in any bin, which cannot vote, and their models.
  void drop_empty (FragmentsTarget &target) const
  {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < target.patches_.size (); i++)
      if (const auto model = target.models_.begin () + std::ptrdiff_t (i * bins_);
          !is_empty (&*model)) {
        std::copy_n (model, bins_, target.models_.begin () + std::ptrdiff_t (kept * bins_));
        target.patches_[kept++] = target.patches_[i];
      }
    target.patches_.resize (kept);
    target.models_.resize (kept * bins_);
  }

  bool is_empty (const float *shares) const
  {
    return std::all_of (shares, shares + bins_, [] (float share) { return share == 0; });
  }

  /// Returns a target's patches, enlarged by `scale`, as rectangles in pixels: relative to the
  /// box's corner, or to the frame if `absolute` is true.
  static std::vector<GstVideoRectangle> patches_at (const FragmentsTarget &target, double scale,
                                                    bool absolute)
  {
    std::vector<GstVideoRectangle> rectangles;
    const int x = absolute ? lrint_of (target.box_.x) : 0,
              y = absolute ? lrint_of (target.box_.y) : 0;
    for (const Patch &patch : target.patches_) {
      const int x0 = lrint_of (patch.x0 * scale),
                x1 = std::max (x0 + 1, lrint_of (patch.x1 * scale));
      const int y0 = lrint_of (patch.y0 * scale),
                y1 = std::max (y0 + 1, lrint_of (patch.y1 * scale));
      rectangles.push_back ({ x + x0, y + y0, x1 - x0, y1 - y0 });
    }
    return rectangles;
  }

  /// Returns normalised histograms of rectangles; all 0 for a rectangle without a pixel in a bin.
  Expected<std::vector<float>> histograms (const std::vector<GstVideoRectangle> &rectangles) const
  {
    const std::vector<guint64> counts = TRY (sums_of (histogram_, rectangles));
    std::vector<float> shares (counts.size ());
    for (std::size_t first = 0; first < counts.size (); first += bins_) {
      guint64 pixels = 0;
      for (unsigned b = 0; b < bins_; b++)
        pixels += counts[first + b];
      for (unsigned b = 0; b < bins_; b++)
        shares[first + b] = pixels > 0 ? float (double (counts[first + b]) / double (pixels)) : 0;
    }
    return shares;
  }

  /// How far a search goes from its middle, and in which steps, in pixels.
  struct Reach {
    int range_x, range_y, step_x, step_y;
  };

  /// Makes a search of the positions around (x, y) at which a target's box is inside the frame.
  Search search_around (const FragmentsTarget &target, double scale, int x, int y,
                        const Reach &reach) const
  {
    const auto axis = [] (int at, int range, int step, int most) {
      int first = at - range / step * step;
      if (first < 0)
        first += (step - 1 - first) / step * step;
      const int last = std::min (at + range, most);
      return first <= last ? std::pair (first, (last - first) / step + 1)
                           : std::pair (std::clamp (at, 0, most), 1);
    };
    const auto [x0, columns] = axis (x, reach.range_x, reach.step_x,
                                     std::max (0, width_ - lrint_of (target.box_.width * scale)));
    const auto [y0, rows] = axis (y, reach.range_y, reach.step_y,
                                  std::max (0, height_ - lrint_of (target.box_.height * scale)));
    return { &target,
             scale,
             x,
             y,
             { 1, 1, x0, y0, reach.step_x, reach.step_y, columns, rows },
             patches_at (target, scale, false),
             {},
             0 };
  }

  void look_nearby (const FragmentsTarget &target, std::vector<Search> &searches) const
  {
    const int range = int (settings_.search_range), x = lrint_of (target.box_.x),
              y = lrint_of (target.box_.y);
    for (const double scale : { 1.0, 1 / kScaleStep, kScaleStep })
      if (scale == 1 || (settings_.scale_search && is_possible (target, scale)))
        searches.push_back (search_around (
            target, scale, lrint_of (x + target.box_.width * (1 - scale) / 2),
            lrint_of (y + target.box_.height * (1 - scale) / 2), { range, range, 1, 1 }));
  }

  bool is_possible (const FragmentsTarget &target, double scale) const
  {
    constexpr double kMin = 8;  // pixels
    const double width = target.box_.width * scale, height = target.box_.height * scale;
    return (scale > 1 || (width >= kMin && height >= kMin)) && width <= width_ && height <= height_;
  }

  /// Makes the search for a lost target. A search recognises a target from within a quarter of its
  /// width and an eighth of its height, so steps are no longer, unless there would be too many.
  Search look_everywhere (FragmentsTarget &target) const
  {
    target.radius_ =
        std::min (target.radius_ + int (settings_.search_range), std::max (width_, height_));
    const int side = 2 * target.radius_ + 1;
    const auto step = [&] (double longest) {
      return std::max (
          { 1, std::min ((side - 1) / kCoarse + 1, int (longest)), (side - 1) / kMaxCoarse + 1 });
    };
    return search_around (target, 1, lrint_of (target.box_.x), lrint_of (target.box_.y),
                          { target.radius_, target.radius_, step (target.box_.width / 4),
                            step (target.box_.height / 8) });
  }

  Expected<> ask (std::span<Search> searches) const
  {
    if (searches.empty ())
      return {};
    std::vector<GstIntegralHistogramSearch> queries;
    std::size_t positions = 0;
    for (const Search &search : searches) {
      const guint n = guint (search.patches.size ());
      const guint rank = std::min (n - 1, guint (settings_.quantile * n));
      queries.push_back (
          { search.grid, search.patches.data (), n, search.target->models_.data (), rank });
      positions += std::size_t (search.grid.columns) * search.grid.rows;
    }
    std::vector<float> votes (positions);
    GError *problem = nullptr;
    if (!gst_integral_histogram_vote_maps (histogram_, queries.data (), guint (queries.size ()),
                                           settings_.measure, votes.data (), nullptr, &problem))
      return take_gerror (problem);
    const bool similarity = inthist::is_similarity (inthist::Measure (settings_.measure));
    auto vote = votes.begin ();
    for (Search &search : searches) {
      search.costs.resize (std::size_t (search.grid.columns) * search.grid.rows);
      for (double &cost : search.costs)
        cost = similarity ? 1 - *vote++ : *vote++;
      search.best = best_position (search);
    }
    return {};
  }

  /// Returns the position of least cost; of equal ones the nearest to the search's middle, so that
  /// a target on uniform ground stays. The query's answer would be the nearest to the grid's
  /// middle.
  static int best_position (const Search &search)
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

  static void move (FragmentsTarget &target, const Search &search)
  {
    target.box_ = { double (search.x_of (search.best)), double (search.y_of (search.best)),
                    target.box_.width * search.scale, target.box_.height * search.scale };
    resize (target, search.scale);
  }

  static void resize (FragmentsTarget &target, double scale)
  {
    if (scale != 1)
      for (Patch &patch : target.patches_)
        patch = { patch.x0 * scale, patch.y0 * scale, patch.x1 * scale, patch.y1 * scale };
  }

  /// Returns the best of a target's searches at several scales. Another scale must cost clearly
  /// less than the present one.
  static const Search &best_of (std::span<const Search> scales)
  {
    const Search &same = scales[0];
    const Search *best = &same;
    for (const Search &other : scales.subspan (1))
      if (other.cost () < same.cost () * kScaleGain && other.cost () < best->cost ())
        best = &other;
    return *best;
  }

  Expected<> judge_frame (FragmentsTarget &target, std::span<const Search> scales)
  {
    const Search &best = best_of (scales);
    const std::vector<double> &costs = scales[0].costs;
    std::optional<double> usual;
    if (target.good_costs_.size () >= kMinGood)
      usual = median ({ target.good_costs_.begin (), target.good_costs_.end () });
    const FrameQuality quality = assess_frame ({ best.cost (), median (costs), costs.size () },
                                               usual, settings_, lost_after_);
    return apply_quality (target, best, usual.value_or (0), quality);
  }

  /// Moves a target to its best position. Counts bad frames, of which too many lose the target.
  Expected<> apply_quality (FragmentsTarget &target, const Search &best, double usual,
                            const FrameQuality &quality)
  {
    const TargetBox last = target.box_;
    if (quality.moves)
      move (target, best);
    target.confidence_ = 1 - quality.share;
    if (quality.grade != FrameQuality::Grade::bad) {
      target.n_bad_frames_ = 0;
      if (quality.grade == FrameQuality::Grade::suspicious)
        return {};
      target.good_costs_.push_back (best.cost ());
      if (target.good_costs_.size () > kMaxGood)
        target.good_costs_.pop_front ();
      if (settings_.update_rate > 0)
        return update_models (target, best.cost ());
      return {};
    }
    if (target.n_bad_frames_++ == 0)
      target.box_before_bad_ = last;
    if (target.n_bad_frames_ >= lost_after_) {
      target.lost_ = true;
      target.confidence_ = 0;
      resize (target, target.box_before_bad_.width / target.box_.width);
      target.box_ = target.box_before_bad_;
      target.loss_costs_ = { usual, best.cost () };
      target.radius_ = int (settings_.search_range);
    }
    return {};
  }

  /// Looks for a lost target pixel by pixel, around the best positions of a coarse search.
  Expected<> find_again (FragmentsTarget &target, const Search &coarse)
  {
    const auto &grid = coarse.grid;
    std::vector<int> order (coarse.costs.size ());
    for (std::size_t i = 0; i < order.size (); i++)
      order[i] = int (i);
    std::ranges::stable_sort (order, {}, [&] (int i) { return coarse.costs[i]; });
    std::vector<int> chosen;
    for (const int i : order) {
      const auto is_neighbour = [&] (int other) {
        return std::abs (other % grid.columns - i % grid.columns) <= 1
               && std::abs (other / grid.columns - i / grid.columns) <= 1;
      };
      if (std::ranges::none_of (chosen, is_neighbour))
        chosen.push_back (i);
      if (chosen.size () == kCandidates)
        break;
    }
    std::vector<Search> fine;
    for (const int i : chosen)
      fine.push_back (search_around (target, 1, coarse.x_of (i), coarse.y_of (i),
                                     { grid.step_x - 1, grid.step_y - 1, 1, 1 }));
    TRY (ask (fine));
    const Search &best = *std::ranges::min_element (fine, {}, &Search::cost);
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

  /// Updates the models of the patches that agree: their distance is at most the box's cost.
  Expected<> update_models (FragmentsTarget &target, double cost)
  {
    const auto now = TRY (histograms (patches_at (target, 1, true)));
    const float rate = float (settings_.update_rate);
    for (std::size_t first = 0; first < now.size (); first += bins_)
      if (!is_empty (&now[first])
          && distance (&now[first], &target.models_[first]) <= cost + kCostTolerance)
        for (std::size_t b = first; b < first + bins_; b++)
          target.models_[b] += rate * (now[b] - target.models_[b]);
    return {};
  }

  double distance (const float *p, const float *q) const
  {
    std::vector<float> model (q, q + bins_);
    inthist::prepare (inthist::Measure (settings_.measure), model);
    return inthist::with_measure (inthist::Measure (settings_.measure), [&] (auto measure) {
      inthist::MeasureSum<measure.value> sum (1, 0);
      for (unsigned b = 0; b < bins_; b++)
        sum.add_share (int (b), p[b], model[b]);
      return double (is_similarity (measure.value) ? 1 - sum.value () : sum.value ());
    });
  }

  GstIntegralHistogram *const histogram_;
  const FragmentsSettings settings_;
  const unsigned lost_after_;
  const int width_, height_;
  const unsigned bins_;
};

void FragmentsTarget::restart (const TargetBox &box)
{
  box_ = box;
  is_box_clipped_ = is_started_ = false;
  lost_ = false;
}

void FragmentsTarget::resize (double x_factor, double y_factor)
{
  for (TargetBox *box : { &box_, &box_before_bad_ }) {
    *box = resized (*box, x_factor, y_factor);
    if (is_box_clipped_) {
      box->x = std::round (box->x);
      box->y = std::round (box->y);
    }
  }
  for (Patch &patch : patches_)
    patch = { patch.x0 * x_factor, patch.y0 * y_factor, patch.x1 * x_factor, patch.y1 * y_factor };
  good_costs_.clear ();
  radius_ = int (radius_ * std::max (x_factor, y_factor));
}

Expected<> track_by_fragments (GstIntegralHistogram *histogram, const FragmentsSettings &settings,
                               unsigned lost_after, std::span<const Step<FragmentsTarget>> steps)
{
  std::vector<FragmentsTarget *> targets;
  for (const auto &step : steps)
    targets.push_back (step.target);
  return targets.empty () ? Expected<> ()
                          : FragmentsSearch (histogram, settings, lost_after).run (targets);
}

}  // namespace integralhist
