// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A task goes down a group of neighbouring columns of a plane, along cache lines; see ../cuda/add_above.cu.
#include <algorithm>

#include <tbb/parallel_for.h>

#include "../elements.hpp"

namespace inthist::cpu {
namespace {

template <class T>
void
add (const Planes<T> &strip, std::uint32_t *above)
{
  constexpr int kColumns = 1024;
  const int groups = (strip.width + kColumns - 1) / kColumns;
  tbb::parallel_for (0, strip.count * groups, [&] (int i) {
    const int b = i / groups, first = i % groups * kColumns, last = std::min (first + kColumns, strip.width);
    std::uint32_t *const carry = above + std::size_t (b) * strip.width;
    for (int y = 0; y < strip.height; y++) {
      T *const row = strip.line (b, y);
      for (int x = first; x < last; x++)
        row[x] = T (row[x] + carry[x]);
    }
    std::copy (strip.line (b, strip.height - 1) + first, strip.line (b, strip.height - 1) + last, carry + first);
  });
}

}  // namespace

void
add_above (const Shape &shape, const Layout &layout, void *tensor, std::uint32_t *above)
{
  if (bytes_of (shape.counter) == sizeof (std::uint16_t))
    add (planes_of<std::uint16_t> (shape, layout, tensor), above);
  else
    add (planes_of<std::uint32_t> (shape, layout, tensor), above);
}

}  // namespace inthist::cpu
