// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a rectangle adds up to, from four elements of a plane (Poostchi et al. 2017, eq. 2; their r-, c- are r - 1, c - 1):
//
//   sum = H(y1, x1) - H(y0 - 1, x1) - H(y1, x0 - 1) + H(y0 - 1, x0 - 1)
//
// H is known modulo 2^16 or 2^32, and so is the sum: exact as long as the rectangle has too few pixels to reach that. A larger one is cut
// into parts of few enough, whose sums are added. With u32 that never happens to counts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "host_device.hpp"
#include "inthist.hpp"

namespace inthist {

/// Pixels that a plane's element can count without an overflow: of counts 1 at most a pixel, of values 255, of squares 65025.
INTHIST_HOST_DEVICE inline int
exact_pixels (const Shape &shape, int plane)
{
  const std::uint32_t most = shape.counter == Type::u16 ? 0xffffu : 0xffffffffu;
  const std::uint32_t a_pixel = shape.content == Content::bins ? 1 : plane == 0 ? 255 : 255 * 255;
  const std::uint32_t pixels = most / a_pixel;
  return pixels < 0x7fffffffu ? int (pixels) : 0x7fffffff;
}

/// `row` is the number of elements from one row to the next. The region is not empty and lies inside the plane.
template <class T>
INTHIST_HOST_DEVICE inline T
sum_part (const T *plane, std::size_t row, const Region &part)
{
  const std::size_t x1 = part.x + part.width - 1, y1 = part.y + part.height - 1;
  const T *bottom = plane + y1 * row;
  T sum = bottom[x1];
  if (part.x > 0)
    sum -= bottom[part.x - 1];
  if (part.y > 0) {
    const T *above = plane + std::size_t (part.y - 1) * row;
    sum -= above[x1];
    if (part.x > 0)
      sum += above[part.x - 1];
  }
  return sum;
}

/// `most` pixels are exact.
template <class Sum, class T>
INTHIST_HOST_DEVICE inline Sum
sum_region (const T *plane, std::size_t row, const Region &region, int most)
{
  if (region.width <= 0 || region.height <= 0)
    return 0;
  const int columns = region.width < most ? region.width : most, rows = most / columns;
  Sum sum = 0;
  for (int y = 0, height; y < region.height; y += height) {
    height = region.height - y < rows ? region.height - y : rows;
    for (int x = 0, width; x < region.width; x += width) {
      width = region.width - x < columns ? region.width - x : columns;
      sum += sum_part (plane, row, { region.x + x, region.y + y, width, height });
    }
  }
  return sum;
}

}  // namespace inthist
