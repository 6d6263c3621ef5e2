// SPDX-License-Identifier: LGPL-2.1-or-later
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "../region.hpp"

namespace inthist::cpu {
namespace {

template <class T, class Sum>
void
sum (const Shape &shape, const Layout &layout, const void *tensor, std::span<const Region> regions, Sum *sums)
{
  tbb::parallel_for (tbb::blocked_range<std::size_t> (0, regions.size (), 64), [&] (const auto &range) {
    for (std::size_t i = range.begin (); i < range.end (); i++)
      for (int b = 0; b < shape.bins; b++) {
        const auto *plane = reinterpret_cast<const T *> (static_cast<const std::uint8_t *> (tensor) + b * layout.plane_pitch);
        sums[i * shape.bins + b] = sum_region<Sum> (plane, layout.row_pitch / sizeof (T), regions[i], exact_pixels (shape, b));
      }
  });
}

template <class Sum>
void
sum_any (const Shape &shape, const Layout &layout, const void *tensor, std::span<const Region> regions, Sum *sums)
{
  if (shape.counter == Type::u16)
    sum<std::uint16_t> (shape, layout, tensor, regions, sums);
  else
    sum<std::uint32_t> (shape, layout, tensor, regions, sums);
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
