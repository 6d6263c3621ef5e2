// SPDX-License-Identifier: LGPL-2.1-or-later
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "../region.hpp"

namespace inthist::cpu {
namespace {

template <class T>
void
count (const Shape &shape, const Layout &layout, const void *tensor, std::span<const Region> regions, std::uint32_t *counts)
{
  tbb::parallel_for (tbb::blocked_range<std::size_t> (0, regions.size (), 64), [&] (const auto &range) {
    for (std::size_t i = range.begin (); i < range.end (); i++)
      for (int b = 0; b < shape.bins; b++) {
        const auto *plane = reinterpret_cast<const T *> (static_cast<const std::uint8_t *> (tensor) + b * layout.plane_pitch);
        counts[i * shape.bins + b] = count_region (plane, layout.row_pitch / sizeof (T), regions[i]);
      }
  });
}

}  // namespace

void
count_regions (const Shape &shape, const Layout &layout, const void *tensor, std::span<const Region> regions, std::uint32_t *counts)
{
  if (shape.counter == Counter::u32)
    count<std::uint32_t> (shape, layout, tensor, regions, counts);
  else
    count<std::uint16_t> (shape, layout, tensor, regions, counts);
}

}  // namespace inthist::cpu
