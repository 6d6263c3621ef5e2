// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What one window answers, bin after bin: one text for both devices. `plane (b)` is plane b of the
// tensor (region.hpp); the window is clipped.
#pragma once

#include "region.hpp"

namespace inthist {

/// What a pixel is of the window.
INTHIST_HOST_DEVICE inline float share_of (float columns, float rows)
{
  const float pixels = columns * rows;
  return pixels > 0 ? 1 / pixels : 0;
}

/// The number k of sum i in what is carried; sums are counted model by model, and window by window
/// in each.
INTHIST_HOST_DEVICE inline float &carried_number (const Query &query, int k, std::size_t i)
{
  return static_cast<float *> (
      query.carried)[std::size_t (k) * query.n_models () * query.windows.size () + i];
}

/// What a new sum i must know of the bins before the tensor's.
template <Measure kMeasure, class AnyQuery>
INTHIST_HOST_DEVICE inline void resume (const AnyQuery &query, std::size_t i,
                                        MeasureSum<kMeasure> &sum)
{
  if (query.continues ())
    sum.for_state ([&] (int k, float &number) { number = carried_number (query, k, i); });
}

/// Sum i with all of the tensor's bins: hands it on where others follow, and else calls `store`
/// with its value.
template <Measure kMeasure, class AnyQuery, class Store>
INTHIST_HOST_DEVICE inline void finish (const Shape &shape, const AnyQuery &query, std::size_t i,
                                        MeasureSum<kMeasure> &sum, Store &&store)
{
  if (query.goes_on (shape))
    sum.for_state ([&] (int k, float number) { carried_number (query, k, i) = number; });
  else
    store (sum.value ());
}

/// How alike the window of sum i and the model are.
template <Measure kMeasure, class Planes, class AnyQuery, class Store>
INTHIST_HOST_DEVICE inline void likelihood (const Shape &shape, const Planes &plane,
                                            const AnyQuery &query, std::size_t i,
                                            const Region &window, const float *model, Store &&store)
{
  const float share = share_of (window.width, window.height);
  MeasureSum<kMeasure> sum (query.bins_of (shape), share == 0);
  resume (query, i, sum);
  for (int b = 0; b < shape.bins; b++)
    sum.add (share * float (sum_region<std::uint32_t> (plane (b), window, exact_pixels (shape, b))),
             sum.ready (model[b]));
  finish (shape, query, i, sum, store);
}

/// The first of the tensor's `bins` first bins with which a window's pixels, `so_far` before them,
/// are at least `part` of all, and one; `bins` where there is none, -1 where there are no pixels.
template <class Planes>
INTHIST_HOST_DEVICE inline int first_bin_with (const Shape &shape, const Planes &plane,
                                               const Region &window, double part, int bins,
                                               std::uint64_t &so_far)
{
  const double pixels = double (window.width) * window.height, least = part * pixels;
  if (pixels == 0)
    return -1;
  for (int b = 0; b < bins; b++) {
    so_far += sum_region<std::uint32_t> (plane (b), window, exact_pixels (shape, b));
    if (so_far > 0 && double (so_far) >= least)
      return b;
  }
  return bins;
}

/// Answers quantiles for window i.
template <class Planes, class AnyQuery>
INTHIST_HOST_DEVICE inline void quantile (const Shape &shape, const Planes &plane,
                                          const AnyQuery &query, int i)
{
  auto *const carried = static_cast<std::int64_t *> (query.carried);
  const bool goes_on = query.goes_on (shape);
  const std::int64_t before = query.continues () ? carried[i] : 0;
  std::uint64_t so_far = before;
  int bin = int (~before);
  if (before >= 0) {
    const int bins = goes_on ? shape.bins : shape.bins - 1;  // the last of all needs no counting
    bin = first_bin_with (shape, plane, window_of (query.windows, i, shape), query.quantile, bins,
                          so_far);
    if (query.continues () && bin >= 0)
      bin += query.first_bin;
  }
  if (goes_on)
    carried[i] = bin < query.first_bin + shape.bins
                     ? ~std::int64_t (bin)
                     : std::int64_t (so_far);  // no pixels: 0 either way
  else
    static_cast<std::int32_t *> (query.answers)[i] = bin;
}

/// A patch of the window with this corner, clipped.
INTHIST_HOST_DEVICE inline Region patch_at (const Corner &corner, const Region &patch,
                                            const Shape &shape)
{
  return clip_at (corner.x + patch.x, corner.y + patch.y, patch.width, patch.height, shape);
}

/// The rank-th best of n votes, `votes (i)` being the i-th: whether it is the i-th; of equals the
/// first is the better.
template <class Votes>
INTHIST_HOST_DEVICE inline bool has_rank (int rank, int i, int n, bool similarity,
                                          const Votes &votes)
{
  const float own = votes (i);
  int better = 0;
  for (int k = 0; k < n; k++) {
    const float other = votes (k);
    better += other == own ? k < i : (other > own) == similarity;
  }
  return better == rank;
}

/// A window that may be the best. A smaller one is better.
struct Candidate {
  float cost;
  int index;
  std::int64_t from_middle;  // squared, in halves of a step

  INTHIST_HOST_DEVICE bool operator<(const Candidate &other) const
  {
    if (cost != other.cost)
      return cost < other.cost;
    return from_middle != other.from_middle ? from_middle < other.from_middle : index < other.index;
  }
};

INTHIST_HOST_DEVICE inline Candidate candidate (const Query &query, int i, float value)
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
