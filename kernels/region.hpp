// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The histogram of a rectangle from four elements of the tensor (Poostchi et al. 2017, eq. 2; their r-, c- are r - 1, c - 1):
//
//   count = H(y1, x1) - H(y0 - 1, x1) - H(y1, x0 - 1) + H(y0 - 1, x0 - 1)
//
// With u16 counters H is known modulo 65536, and so is the count: exact as long as the rectangle has at most 65535 pixels. A larger one is cut
// into parts of at most that many pixels, whose counts are added. u32 needs no cutting.
#pragma once

#include <cstddef>
#include <cstdint>

#include "host_device.hpp"
#include "inthist.hpp"

namespace inthist {

/// `row` is the number of elements from one row to the next. The region is not empty and lies inside the plane.
template <class T>
INTHIST_HOST_DEVICE inline T
count_part (const T *plane, std::size_t row, const Region &part)
{
  const std::size_t x1 = part.x + part.width - 1, y1 = part.y + part.height - 1;
  const T *bottom = plane + y1 * row;
  T count = bottom[x1];
  if (part.x > 0)
    count -= bottom[part.x - 1];
  if (part.y > 0) {
    const T *above = plane + std::size_t (part.y - 1) * row;
    count -= above[x1];
    if (part.x > 0)
      count += above[part.x - 1];
  }
  return count;
}

template <class T>
INTHIST_HOST_DEVICE inline std::uint32_t
count_region (const T *plane, std::size_t row, const Region &region)
{
  if (region.width <= 0 || region.height <= 0)
    return 0;
  if (sizeof (T) == 4)
    return count_part (plane, row, region);

  constexpr int kLimit = 65535;
  const int columns = region.width < kLimit ? region.width : kLimit;
  const int rows = kLimit / columns;
  std::uint32_t count = 0;
  for (int y = 0; y < region.height; y += rows)
    for (int x = 0; x < region.width; x += columns) {
      const Region part = { region.x + x, region.y + y, region.width - x < columns ? region.width - x : columns,
                            region.height - y < rows ? region.height - y : rows };
      count += count_part (plane, row, part);
    }
  return count;
}

}  // namespace inthist
