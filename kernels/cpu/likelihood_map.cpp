// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A likelihood map: what a tracker by histograms looks for its target in. For each window, the counts of all bins are four elements of the tensor each (region.hpp), divided by the window's
// pixels and added to the measure at once; no histogram is kept. A row of windows at a time, bin after bin, so that a plane's two rows are read from end to end.
#include <algorithm>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "../region.hpp"

namespace inthist::cpu {
namespace {

constexpr int kWindows = 64;  // of a row, whose sums stay in the cache

template <Measure kMeasure, class Plane>
void
map_row (const Shape &shape, const Plane &plane, const Grid &grid, std::span<const float> model, int row, float *map)
{
  for (int first = 0; first < grid.columns; first += kWindows) {
    const int n = std::min (kWindows, grid.columns - first);
    std::vector<MeasureSum<kMeasure>> sums;
    Region windows[kWindows];
    float share[kWindows];  // of the window, a pixel
    sums.reserve (kWindows);
    for (int i = 0; i < n; i++) {
      windows[i] = clip (window_of (grid, first + i, row), shape.width, shape.height);
      const float pixels = float (windows[i].width) * float (windows[i].height);
      share[i] = pixels > 0 ? 1 / pixels : 0;
      sums.emplace_back (shape.bins, pixels == 0);
    }
    for (int b = 0; b < shape.bins; b++)
      for (int i = 0; i < n; i++)
        sums[i].add (share[i] * float (sum_region<std::uint32_t> (plane (b), windows[i], exact_pixels (shape, b))), model[b]);
    for (int i = 0; i < n; i++)
      map[first + i] = sums[i].value ();
  }
}

}  // namespace

void
likelihood_map (const Shape &shape, const Layout &layout, const void *tensor, const Grid &grid, std::span<const float> model,
                Measure measure, float *map)
{
  with_planes (shape, layout, tensor, anchors_of (shape), [&] (const auto &plane) {
    with_measure (measure, [&] (auto constant) {
      tbb::parallel_for (tbb::blocked_range<int> (0, grid.rows), [&] (const auto &range) {
        for (int row = range.begin (); row < range.end (); row++)
          map_row<constant.value> (shape, plane, grid, model, row, map + std::size_t (row) * grid.columns);
      });
    });
  });
}

}  // namespace inthist::cpu
