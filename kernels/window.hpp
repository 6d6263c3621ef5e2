// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Windows, and answers for one, bin after bin, in one source for both devices. `plane (b)` is plane
// b of the tensor (tensor_view.hpp); the window is clipped.
#pragma once

#include "query.hpp"

namespace inthist {

/// The first pixel of a window before it is clipped.
struct Corner {
  std::int64_t x, y;
};

INTHIST_HOST_DEVICE inline Corner corner_of (const Windows &windows, int i)
{
  if (windows.list)
    return { windows.list[i].x, windows.list[i].y };
  const Grid &grid = windows.grid;
  return { grid.x + std::int64_t (i % grid.columns) * grid.step_x,
           grid.y + std::int64_t (i / grid.columns) * grid.step_y };
}

INTHIST_HOST_DEVICE inline Region window_of (const Windows &windows, int i, const Shape &shape)
{
  const auto [x, y] = corner_of (windows, i);
  const bool listed = windows.list;
  return clip_at (x, y, listed ? windows.list[i].width : windows.grid.window_width,
                  listed ? windows.list[i].height : windows.grid.window_height, shape);
}

INTHIST_HOST_DEVICE inline Region patch_at (const Corner &corner, const Region &patch,
                                            const Shape &shape)
{
  return clip_at (corner.x + patch.x, corner.y + patch.y, patch.width, patch.height, shape);
}

/// Returns the weight of a pixel in the window's normalised histogram.
INTHIST_HOST_DEVICE inline float weight_of (float columns, float rows)
{
  const float pixels = columns * rows;
  return pixels > 0 ? 1 / pixels : 0;
}

/// Returns the weight of a unit of Content::weights there. The total is exact, in 64 bits, and is
/// rounded to the nearest float, as is each bin; so is the reciprocal, and then the product.
INTHIST_HOST_DEVICE inline float weight_of (std::uint64_t total)
{
  return total > 0 ? 1 / float (total) : 0;
}

/// Returns what a window has in plane b: pixels, or weights, of which a large one has more than 32
/// bits.
template <class PlaneAccessor>
INTHIST_HOST_DEVICE inline float amount_in (const Shape &shape, const PlaneAccessor &plane, int b,
                                            const Region &window)
{
  const int most = exact_pixels (shape, b);
  return shape.content == Content::weights
             ? float (sum_region<std::uint64_t> (plane (b), window, most))
             : float (sum_region<std::uint32_t> (plane (b), window, most));
}

/// Returns what bins first, first + step, ... of Content::weights add up to in a window.
template <class PlaneAccessor>
INTHIST_HOST_DEVICE inline std::uint64_t total_in (const Shape &shape, const PlaneAccessor &plane,
                                                   const Region &window, int first = 0,
                                                   int step = 1)
{
  std::uint64_t total = 0;
  for (int b = first; b < shape.bins; b += step)
    total += sum_region<std::uint64_t> (plane (b), window, exact_pixels (shape, b));
  return total;
}

/// Returns the window, or the patch in it, that total i is of.
INTHIST_HOST_DEVICE inline Region region_of_total (const Query &query, std::size_t i,
                                                   const Shape &shape)
{
  const int windows = query.windows.size (), window = int (i % windows);
  return query.n_patches > 0
             ? patch_at (corner_of (query.windows, window), query.patches[i / windows], shape)
             : window_of (query.windows, window, shape);
}

/// Tells whether a query brings the totals of its windows, as the tensor has not all bins.
template <class AnyQuery>
INTHIST_HOST_DEVICE inline bool brings_totals (const Shape &shape, const AnyQuery &query)
{
  return query.has_bins_before () || query.has_bins_after (shape);
}

/// Returns the weight of what a window has in a plane, in its normalised histogram, of sum i.
template <class PlaneAccessor, class AnyQuery>
INTHIST_HOST_DEVICE inline float weight_in (const Shape &shape, const PlaneAccessor &plane,
                                            const AnyQuery &query, std::size_t i,
                                            const Region &window)
{
  if (shape.content != Content::weights)
    return weight_of (window.width, window.height);
  return weight_of (brings_totals (shape, query) ? query.totals[i]
                                                 : total_in (shape, plane, window));
}

/// Returns carried number k of sum i; sums are numbered by model, then by window.
template <class AnyQuery>
INTHIST_HOST_DEVICE inline float &carried_number (const AnyQuery &query, int k, std::size_t i)
{
  return static_cast<float *> (
      query.carried)[std::size_t (k) * query.n_models () * query.windows.size () + i];
}

/// Gives a new sum i what is known of the bins before the tensor's.
template <Measure kMeasure, class AnyQuery>
INTHIST_HOST_DEVICE inline void resume (const AnyQuery &query, std::size_t i,
                                        MeasureSum<kMeasure> &sum)
{
  if (query.has_bins_before ())
    sum.for_state ([&] (int k, float &number) { number = carried_number (query, k, i); });
}

/// Carries sum i where bins follow in another tensor, else calls `store` with its value.
template <Measure kMeasure, class AnyQuery, class Store>
INTHIST_HOST_DEVICE inline void finish (const Shape &shape, const AnyQuery &query, std::size_t i,
                                        MeasureSum<kMeasure> &sum, Store &&store)
{
  if (query.has_bins_after (shape))
    sum.for_state ([&] (int k, float number) { carried_number (query, k, i) = number; });
  else
    store (sum.value ());
}

/// Returns the first of the tensor's `bins` first bins at which the window's pixels, with `so_far`
/// before them, reach `part` of `all`, and 1; `bins` if there is none, -1 if there are no pixels.
/// With Content::weights it is weights; all of a frame's are below 2^53.
template <class Sum, class PlaneAccessor>
INTHIST_HOST_DEVICE inline int first_bin_with (const Shape &shape, const PlaneAccessor &plane,
                                               const Region &window, double all, double part,
                                               int bins, std::uint64_t &so_far)
{
  const double least = part * all;
  if (all == 0)
    return -1;
  for (int b = 0; b < bins; b++) {
    so_far += sum_region<Sum> (plane (b), window, exact_pixels (shape, b));
    if (so_far > 0 && double (so_far) >= least)
      return b;
  }
  return bins;
}

template <class PlaneAccessor, class AnyQuery>
INTHIST_HOST_DEVICE inline void quantile (const Shape &shape, const PlaneAccessor &plane,
                                          const AnyQuery &query, int i)
{
  auto *const carried = static_cast<std::int64_t *> (query.carried);
  const bool bins_after = query.has_bins_after (shape);
  const std::int64_t before = query.has_bins_before () ? carried[i] : 0;
  std::uint64_t so_far = before;
  int bin = int (~before);
  if (before >= 0) {
    // the last bin of all needs no counting
    const int bins = bins_after ? shape.bins : shape.bins - 1;
    const Region window = window_of (query.windows, i, shape);
    if (shape.content == Content::weights) {
      const std::uint64_t all =
          brings_totals (shape, query) ? query.totals[i] : total_in (shape, plane, window);
      bin = first_bin_with<std::uint64_t> (shape, plane, window, double (all), query.quantile, bins,
                                           so_far);
    } else {
      bin = first_bin_with<std::uint32_t> (shape, plane, window,
                                           double (window.width) * window.height, query.quantile,
                                           bins, so_far);
    }
    if (query.has_bins_before () && bin >= 0)
      bin += query.first_bin;
  }
  if (bins_after)  // without pixels 0 either way
    carried[i] = bin < query.first_bin + shape.bins ? ~std::int64_t (bin) : std::int64_t (so_far);
  else
    static_cast<std::int32_t *> (query.answers)[i] = bin;
}

/// A window that may be the best; the smaller RankedWindow is better.
struct RankedWindow {
  float cost;
  int index;
  std::int64_t from_middle;  // squared distance, in halves of a step

  INTHIST_HOST_DEVICE bool operator<(const RankedWindow &other) const
  {
    if (cost != other.cost)
      return cost < other.cost;
    return from_middle != other.from_middle ? from_middle < other.from_middle : index < other.index;
  }
};

INTHIST_HOST_DEVICE inline RankedWindow ranked (const Query &query, int i, float value)
{
  std::int64_t from_middle = 0;
  if (!query.windows.list) {
    const Grid &grid = query.windows.grid;
    const std::int64_t dx = 2 * (i % grid.columns) - (grid.columns - 1),
                       dy = 2 * (i / grid.columns) - (grid.rows - 1);
    from_middle = dx * dx + dy * dy;
  }
  return { is_similarity (query.measure) ? -value : value, i, from_middle };
}

}  // namespace inthist
