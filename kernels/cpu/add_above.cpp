// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Adds the tensor's row above a strip of rows to all rows of the strip (see ../cuda/add_above.cu).
// Each task works down neighbouring columns of a plane, which fill whole cache lines.
#include <algorithm>

#include "../planes.hpp"
#include "parallel.hpp"

namespace inthist::cpu {

template <class T>
static int add (const Planes<T> &strip, std::uint32_t *above)
{
  constexpr int kColumns = 1024;
  const int groups = divide_up (strip.width, kColumns);
  return for_each (strip.count * groups, 1, nullptr, [&] (int i) {
    const int b = i / groups, first = i % groups * kColumns,
              last = std::min (first + kColumns, strip.width);
    std::uint32_t *const carry = above + std::size_t (b) * strip.width;
    for (int y = 0; y < strip.height; y++) {
      T *const row = strip.line (b, y);
      for (int x = first; x < last; x++)
        row[x] = T (row[x] + carry[x]);
    }
    std::copy (strip.line (b, strip.height - 1) + first, strip.line (b, strip.height - 1) + last,
               carry + first);
  });
}

int add_above (const Shape &shape, const Layout &layout, void *tensor, std::uint32_t *above)
{
  if (bytes_of (shape.counter) == sizeof (std::uint16_t))
    return add (planes_of<std::uint16_t> (shape, layout, tensor), above);
  return add (planes_of<std::uint32_t> (shape, layout, tensor), above);
}

}  // namespace inthist::cpu
