// SPDX-License-Identifier: LGPL-2.1-or-later
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "../region.hpp"

namespace inthist::cpu {
namespace {

template <class Sum>
void
sum_any (const Shape &shape, const Layout &layout, const void *tensor, std::span<const Region> regions, Sum *sums)
{
  with_planes (shape, layout, tensor, anchors_of (shape), [&] (const auto &plane) {
    tbb::parallel_for (tbb::blocked_range<std::size_t> (0, regions.size (), 64), [&] (const auto &range) {
      for (std::size_t i = range.begin (); i < range.end (); i++)
        for (int b = 0; b < shape.bins; b++)
          sums[i * shape.bins + b] = sum_region<Sum> (plane (b), regions[i], exact_pixels (shape, b));
    });
  });
}

}  // namespace

void
count_regions (const Shape &shape, const Layout &layout, const void *tensor, std::span<const Region> regions, std::uint32_t *counts)
{
  sum_any (shape, layout, tensor, regions, counts);
}

void
sum_regions (const Shape &shape, const Layout &layout, const void *tensor, std::span<const Region> regions, std::uint64_t *sums)
{
  sum_any (shape, layout, tensor, regions, sums);
}

}  // namespace inthist::cpu
