// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What one window answers, bin after bin: one text for both devices. `plane (b)` is plane b of the tensor (region.hpp); the window is clipped.
#pragma once

#include "region.hpp"

namespace inthist {

/// What a pixel is of the window.
INTHIST_HOST_DEVICE inline float
share_of (float columns, float rows)
{
  const float pixels = columns * rows;
  return pixels > 0 ? 1 / pixels : 0;
}

template <Measure kMeasure, class Planes>
INTHIST_HOST_DEVICE inline float
likelihood (const Shape &shape, const Planes &plane, const Region &window, const float *model)
{
  const float share = share_of (window.width, window.height);
  MeasureSum<kMeasure> sum (shape.bins, share == 0);
  for (int b = 0; b < shape.bins; b++)
    sum.add (share * float (sum_region<std::uint32_t> (plane (b), window, exact_pixels (shape, b))), sum.ready (model[b]));
  return sum.value ();
}

template <class Planes>
INTHIST_HOST_DEVICE inline int
quantile (const Shape &shape, const Planes &plane, const Region &window, double part)
{
  const double pixels = double (window.width) * window.height, least = part * pixels;
  if (pixels == 0)
    return -1;
  std::uint64_t so_far = 0;
  for (int b = 0; b < shape.bins - 1; b++) {
    so_far += sum_region<std::uint32_t> (plane (b), window, exact_pixels (shape, b));
    if (so_far > 0 && double (so_far) >= least)
      return b;
  }
  return shape.bins - 1;
}

/// A patch of the window with this corner, clipped.
INTHIST_HOST_DEVICE inline Region
patch_at (const Corner &corner, const Region &patch, const Shape &shape)
{
  return clip_at (corner.x + patch.x, corner.y + patch.y, patch.width, patch.height, shape);
}

/// The rank-th best of n votes, `votes (i)` being the i-th: whether it is the i-th; of equals the first is the better.
template <class Votes>
INTHIST_HOST_DEVICE inline bool
has_rank (int rank, int i, int n, bool similarity, const Votes &votes)
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

INTHIST_HOST_DEVICE inline Candidate
candidate (const Query &query, int i, float value)
{
  std::int64_t from_middle = 0;
  if (!query.windows.list) {
    const Grid &grid = query.windows.grid;
    const std::int64_t dx = 2 * (i % grid.columns) - (grid.columns - 1), dy = 2 * (i / grid.columns) - (grid.rows - 1);
    from_middle = dx * dx + dy * dy;
  }
  return { is_similarity (query.measure) ? -value : value, i, from_middle };
}

}  // namespace inthist
