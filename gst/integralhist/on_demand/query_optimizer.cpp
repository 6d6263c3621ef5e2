// SPDX-License-Identifier: LGPL-2.1-or-later
#include "query_optimizer.hpp"

#include <algorithm>
#include <climits>

#include <kernels/window.hpp>

namespace integralhist {
namespace {

/// The tensor of a region also covers windows of earlier queries, which may be asked again. It may
/// cost as much as the last tensor and this many tensors around the query's own windows, since
/// between distant windows lie too many pixels that no query needs. An estimate.
constexpr double kMaxToSpan = 2;
/// The tensor of a region costs at most this share of the whole tensor. Above that share, the whole
/// tensor is computed: it costs little more, and never has to grow. An estimate.
constexpr double kMaxOfWhole = 0.7;

/// A rectangle of columns x0 to x1 - 1 and rows y0 to y1 - 1, which may extend beyond the frame.
struct Extent {
  std::int64_t x0 = INT64_MAX, y0 = INT64_MAX, x1 = INT64_MIN, y1 = INT64_MIN;

  void add (std::int64_t x, std::int64_t y, std::int64_t width, std::int64_t height)
  {
    x0 = std::min (x0, x), x1 = std::max (x1, x + width);
    y0 = std::min (y0, y), y1 = std::max (y1, y + height);
  }
  bool is_empty () const { return x1 <= x0 || y1 <= y0; }
  /// Returns the part of this rectangle that lies in the frame, but at least one pixel.
  Region within (const Shape &frame) const
  {
    const int x = inthist::between (0, x0, frame.width - 1),
              y = inthist::between (0, y0, frame.height - 1);
    return { x, y, inthist::between (1, x1 - x, frame.width - x),
             inthist::between (1, y1 - y, frame.height - y) };
  }
};

bool is_most (const Region &region, const Shape &frame)
{
  return double (pixels_of (region)) > kMaxOfWhole * frame.width * frame.height;
}

/// Returns the smallest region of the frame with all windows of a query, at least one pixel.
/// Returns the whole frame early if the windows of a long list span most of it.
Region around (const Query &query, const Shape &shape)
{
  const Windows &windows = query.windows;
  Extent patches, all;
  for (int p = 0; p < query.n_patches; p++) {
    const Region &patch = query.patches[p];
    patches.add (patch.x, patch.y, patch.width, patch.height);
  }
  const auto add = [&] (const inthist::Corner &corner, int width, int height) {
    if (query.kind != QueryKind::votes)
      all.add (corner.x, corner.y, width, height);
    else if (!patches.is_empty ())
      all.add (corner.x + patches.x0, corner.y + patches.y0, patches.x1 - patches.x0,
               patches.y1 - patches.y0);
  };
  if (windows.list) {
    for (int i = 0; i < windows.n; i++) {
      add (corner_of (windows, i), windows.list[i].width, windows.list[i].height);
      if (i % 64 == 63 && !all.is_empty () && is_most (all.within (shape), shape))
        return { 0, 0, shape.width, shape.height };
    }
  } else {
    const inthist::Grid &grid = windows.grid;
    for (const int i : { 0, windows.size () - 1 })
      add (corner_of (windows, i), grid.window_width, grid.window_height);
  }
  return all.is_empty () ? Region{ 0, 0, 1, 1 } : all.within (shape);
}

Region around_both (const Region &a, const Region &b)
{
  if (a.width == 0)
    return b;
  const int x0 = std::min (a.x, b.x), y0 = std::min (a.y, b.y);
  return { x0, y0, std::max (a.x + a.width, b.x + b.width) - x0,
           std::max (a.y + a.height, b.y + b.height) - y0 };
}

double pixels_of (const Query &query, const Shape &shape)
{
  double pixels = 0;
  for (int i = 0; i < query.windows.size (); i++)
    pixels += double (pixels_of (window_of (query.windows, i, shape)));
  return pixels;
}

/// Returns whether a query's windows can be expressed in coordinates of the region `to`. A list is
/// clipped to the frame for that, which would change votes: they depend on the unclipped windows.
bool can_move (const Query &query, const Region &to)
{
  const inthist::Grid &grid = query.windows.grid;
  return query.windows.list
             ? query.kind != QueryKind::votes
             : std::int64_t (grid.x) - to.x >= INT_MIN && std::int64_t (grid.y) - to.y >= INT_MIN;
}

}  // namespace

/// Returns whether to count windows pixel by pixel at the cost `counting`, and if so notes by how
/// much that exceeds `lookups`, the cost of reading them from a tensor. `all` is the region around
/// these windows and those that were counted since the last tensor.
bool QueryOptimizer::charge_counting (double counting, double lookups, const Region &all)
{
  const double cost = std::max (0.0, counting - lookups);
  if (cost == 0)
    return true;
  if (counting_cost_ + cost >= cost_of (all) || cost_so_far_ + cost >= cost_of (frame_))
    return false;
  counting_cost_ += cost;
  cost_so_far_ += cost;
  return true;
}

std::optional<Region> QueryOptimizer::choose_tensor (const Query &query)
{
  const Region asked = around (query, shape_), all = around_both (counted_region_, asked);
  if (is_additive (query) && !is_within (asked, computed_region_)
      && answer_cost_->pixel != AnswerCost::kNever) {
    const double windows = query.windows.size (), bins = shape_.bins,
                 counting = answer_cost_->pixel * pixels_of (query, shape_)
                            + windows * (answer_cost_->window + answer_cost_->bin * bins);
    if (charge_counting (counting, windows * answer_cost_->lookup * bins, all)) {
      counted_region_ = all;
      return {};
    }
  }
  const bool movable = can_move (query, asked);
  if (is_within (movable ? asked : frame_, computed_region_))
    return computed_region_;
  const bool has_tensor = computed_region_.width > 0;
  Region wanted = has_tensor ? around_both (all, computed_region_) : all;
  if (cost_of (wanted)
      > kMaxToSpan * cost_of (asked) + (has_tensor ? cost_of (computed_region_) : 0))
    wanted = asked;
  if (!movable || cost_of (wanted) > kMaxOfWhole * cost_of (frame_)
      || cost_so_far_ + cost_of (wanted) > cost_of (frame_))
    wanted = frame_;
  return wanted;
}

bool QueryOptimizer::choose_counting (std::span<const CellsQuery> queries)
{
  if (answer_cost_->pixel == AnswerCost::kNever)
    return false;
  Region asked;
  double pixels = 0, n = 0;
  for (const CellsQuery &query : queries) {
    // Cells of a histogram are counted pixel by pixel only with scores, which give one number a
    // cell: without scores a cell has a number for each bin, and many of these are 0.
    if ((shape_.content == Content::bins) == query.scores.empty ())
      return false;
    for (const Cells &cells : query.grids) {
      if (cells.widest () > inthist::cpu::kMaxCellColumns)
        return false;
      const Region region = cells.around ();
      if (region.width == 0 || region.height == 0)
        continue;
      asked = around_both (asked, region);
      pixels += double (pixels_of (region));
      n += double (cells.size ());
    }
  }
  const Region all = around_both (counted_region_, asked);
  const double bins = shape_.bins;
  if (is_within (asked, computed_region_)
      || !charge_counting (answer_cost_->pixel * pixels + n * answer_cost_->bin * bins,
                           n * answer_cost_->lookup * bins, all))
    return false;
  counted_region_ = all;
  return true;
}

void QueryOptimizer::note_computed (const Region &region)
{
  if (is_within (region, computed_region_))
    return;
  computed_region_ = region;
  counted_region_ = {};
  counting_cost_ = 0;
  cost_so_far_ += cost_of (region);
}

}  // namespace integralhist
