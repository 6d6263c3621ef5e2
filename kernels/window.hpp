// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Computes the answers for one window (a rectangle), bin after bin, in one source for CPU and GPU.
// `plane (b)` is plane b of the tensor (tensor_view.hpp). The window is clipped to the frame.
#pragma once

#include "query.hpp"

namespace inthist {

/// The first pixel of a window before the window is clipped; it may lie outside the frame.
struct Corner {
  std::int64_t x, y;
};

HOST_DEVICE inline Corner corner_of (const Windows &windows, int i)
{
  if (windows.list)
    return { windows.list[i].x, windows.list[i].y };
  const Grid &grid = windows.grid;
  return { grid.x + std::int64_t (i % grid.columns) * grid.step_x,
           grid.y + std::int64_t (i / grid.columns) * grid.step_y };
}

HOST_DEVICE inline Region window_of (const Windows &windows, int i, const Shape &shape)
{
  const auto [x, y] = corner_of (windows, i);
  const bool listed = windows.list;
  return clip_at (x, y, listed ? windows.list[i].width : windows.grid.window_width,
                  listed ? windows.list[i].height : windows.grid.window_height, shape);
}

HOST_DEVICE inline Region patch_at (const Corner &corner, const Region &patch, const Shape &shape)
{
  return clip_at (corner.x + patch.x, corner.y + patch.y, patch.width, patch.height, shape);
}

/// Returns the factor that normalises a window's histogram: 1 / total, or 0 if the total is 0. The
/// total is the window's pixels, or its sum of weights. The total, each bin, the reciprocal and the
/// product are each rounded to the nearest float.
HOST_DEVICE inline float reciprocal_of_total (std::uint64_t total)
{
  return total > 0 ? 1 / float (total) : 0;
}

template <Measure kMeasure>
HOST_DEVICE inline MeasureSum<kMeasure> sum_for (std::uint64_t total)
{
  return { reciprocal_of_total (total), std::uint32_t (total) };
}

/// Returns a window's pixels, or sum of weights, in plane b; weights may need over 32 bits.
template <class PlaneAccessor>
HOST_DEVICE inline std::uint64_t amount_in (const Shape &shape, const PlaneAccessor &plane, int b,
                                            const Region &window)
{
  const int most = exact_pixels (shape, b);
  return shape.content == Content::weights ? sum_region<std::uint64_t> (plane (b), window, most)
                                           : sum_region<std::uint32_t> (plane (b), window, most);
}

/// Returns a window's sum of weights over the bins first, first + step, ... of the tensor.
template <class PlaneAccessor>
HOST_DEVICE inline std::uint64_t total_in (const Shape &shape, const PlaneAccessor &plane,
                                           const Region &window, int first = 0, int step = 1)
{
  std::uint64_t total = 0;
  for (int b = first; b < shape.bins; b += step)
    total += sum_region<std::uint64_t> (plane (b), window, exact_pixels (shape, b));
  return total;
}

/// Returns the region of answer i of a query for totals: a window, or a patch of a window.
HOST_DEVICE inline Region region_of_total (const Query &query, std::size_t i, const Shape &shape)
{
  const int windows = query.windows.size (), window = int (i % windows);
  return query.n_patches > 0
             ? patch_at (corner_of (query.windows, window), query.patches[i / windows], shape)
             : window_of (query.windows, window, shape);
}

/// Returns whether Query::totals is given: if this tensor has only some of the frame's bins.
template <class AnyQuery>
HOST_DEVICE inline bool brings_totals (const Shape &shape, const AnyQuery &query)
{
  return query.has_bins_before () || query.has_bins_after (shape);
}

/// Returns the divisor that normalises a window's histogram: the pixels of the window, or their sum
/// of weights, which is Query::totals[i] if the tensor has only some bins.
template <class PlaneAccessor, class AnyQuery>
HOST_DEVICE inline std::uint64_t divisor_of (const Shape &shape, const PlaneAccessor &plane,
                                             const AnyQuery &query, std::size_t i,
                                             const Region &window)
{
  if (shape.content != Content::weights)
    return pixels_of (window);
  return brings_totals (shape, query) ? query.totals[i] : total_in (shape, plane, window);
}

/// Returns number k of the data that Query::carried has for comparison i of a window with a model.
/// Comparisons are numbered by model, then by window.
template <class AnyQuery>
HOST_DEVICE inline float &carried_number (const AnyQuery &query, int k, std::size_t i)
{
  return static_cast<float *> (
      query.carried)[std::size_t (k) * query.n_models () * query.windows.size () + i];
}

template <Measure kMeasure, class AnyQuery>
HOST_DEVICE inline void resume (const AnyQuery &query, std::size_t i, MeasureSum<kMeasure> &sum)
{
  if (query.has_bins_before ())
    sum.for_state ([&] (int k, float &number) { number = carried_number (query, k, i); });
}

/// Ends comparison i of a window with a model: stores it in Query::carried if another tensor has
/// later bins of the frame, and if not, calls `store` with the result.
template <Measure kMeasure, class AnyQuery, class Store>
HOST_DEVICE inline void finish (const Shape &shape, const AnyQuery &query, std::size_t i,
                                MeasureSum<kMeasure> &sum, Store &&store)
{
  if (query.has_bins_after (shape))
    sum.for_state ([&] (int k, float number) { carried_number (query, k, i) = number; });
  else
    store (sum.value ());
}

/// Adds a window's pixels (or weights) in each bin to `so_far`. Returns the first bin at which the
/// sum is at least `least` and at least 1, or -1 if there is none. A double holds the sum exactly,
/// because the sum of a frame is below 2^53.
template <class Sum, class PlaneAccessor>
HOST_DEVICE inline int first_bin_with (const Shape &shape, const PlaneAccessor &plane,
                                       const Region &window, double least, std::uint64_t &so_far)
{
  for (int b = 0; b < shape.bins; b++) {
    so_far += sum_region<Sum> (plane (b), window, exact_pixels (shape, b));
    if (so_far > 0 && double (so_far) >= least)
      return b;
  }
  return -1;
}

template <class PlaneAccessor, class AnyQuery>
HOST_DEVICE inline void quantile (const Shape &shape, const PlaneAccessor &plane,
                                  const AnyQuery &query, int i)
{
  auto *const carried = static_cast<std::int64_t *> (query.carried);
  const std::int64_t before = query.has_bins_before () ? carried[i] : 0;
  std::uint64_t so_far = before;
  int bin = int (~before);  // the quantile's bin, if earlier bins have decided it
  if (before >= 0) {
    const Region window = window_of (query.windows, i, shape);
    const double least =
        query.quantile * double (divisor_of (shape, plane, query, std::size_t (i), window));
    bin = shape.content == Content::weights
              ? first_bin_with<std::uint64_t> (shape, plane, window, least, so_far)
              : first_bin_with<std::uint32_t> (shape, plane, window, least, so_far);
    if (bin >= 0)
      bin = query.bin_of (bin);
  }
  if (query.has_bins_after (shape))
    carried[i] = bin >= 0 ? ~std::int64_t (bin) : std::int64_t (so_far);
  else
    static_cast<std::int32_t *> (query.answers)[i] = bin;
}

/// A candidate for the best window of a query; the smaller of two RankedWindows is the better.
struct RankedWindow {
  float cost;
  int index;
  std::int64_t from_middle;  // squared distance of window and grid's middle, in half steps

  HOST_DEVICE bool operator<(const RankedWindow &other) const
  {
    if (cost != other.cost)
      return cost < other.cost;
    return from_middle != other.from_middle ? from_middle < other.from_middle : index < other.index;
  }
};

template <class AnyQuery>
HOST_DEVICE inline RankedWindow ranked (const AnyQuery &query, int i, float value)
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
