// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Computes sums over rectangles from four elements of a plane (Poostchi et al. 2017, eq. 2; their
// r-, c- are r - 1, c - 1):
//
//   sum = H(y1, x1) - H(y0 - 1, x1) - H(y1, x0 - 1) + H(y0 - 1, x0 - 1)
//
// The tensor H and the sum are known modulo 2^16 or 2^32, so a rectangle with so many pixels that
// its sum might be larger is cut into parts. Counts in u32 or in tiles need no cut.
#pragma once

#include <cstdint>

#include "features/weight.hpp"
#include "host_device.hpp"
#include "shape.hpp"

namespace inthist {

/// A rectangle of a frame, in pixels.
struct Region {
  int x = 0, y = 0, width = 0, height = 0;
};

HOST_DEVICE inline std::uint64_t pixels_of (const Region &region)
{
  return std::uint64_t (region.width) * region.height;
}

HOST_DEVICE inline int between (std::int64_t low, std::int64_t value, std::int64_t high)
{
  return int (value < low ? low : value > high ? high : value);
}

/// Clips a rectangle, which may begin outside the frame, to the frame. If nothing is left, all
/// numbers of the result are 0.
HOST_DEVICE inline Region clip_at (std::int64_t x, std::int64_t y, int width, int height,
                                   const Shape &shape)
{
  const int x0 = between (0, x, shape.width), x1 = between (0, x + width, shape.width);
  const int y0 = between (0, y, shape.height), y1 = between (0, y + height, shape.height);
  return x1 > x0 && y1 > y0 ? Region{ x0, y0, x1 - x0, y1 - y0 } : Region{};
}

HOST_DEVICE inline Region clip (const Region &region, const Shape &shape)
{
  return clip_at (region.x, region.y, region.width, region.height, shape);
}

/// Returns how many pixels a rectangle may have so that its sum cannot overflow a tensor element.
HOST_DEVICE inline int exact_pixels (const Shape &shape, int plane)
{
  const std::uint32_t most = shape.counter == Type::u16 ? 0xffffu : 0xffffffffu;
  const std::uint32_t most_per_pixel = shape.content == Content::bins      ? 1
                                       : shape.content == Content::weights ? WeightedPixel::kMax
                                       : plane == 0                        ? 255
                                                                           : 255 * 255;
  const std::uint32_t pixels = most / most_per_pixel;
  return pixels < 0x7fffffffu ? int (pixels) : 0x7fffffff;
}

/// Returns the sum over a region, not empty and inside the plane, from its four corners.
template <class Plane>
HOST_DEVICE inline auto sum_part (const Plane &at, const Region &part)
{
  const int x1 = part.x + part.width - 1, y1 = part.y + part.height - 1;
  auto sum = at (y1, x1);
  if (part.x > 0)
    sum -= at (y1, part.x - 1);
  if (part.y > 0) {
    sum -= at (part.y - 1, x1);
    if (part.x > 0)
      sum += at (part.y - 1, part.x - 1);
  }
  return sum;
}

/// Returns the sum over a region that is cut into parts of at most `most` pixels (exact_pixels ()).
template <class Sum, class Plane>
HOST_DEVICE inline Sum sum_region (const Plane &at, const Region &region, int most)
{
  if (region.width <= 0 || region.height <= 0)
    return 0;
  if (std::int64_t (region.width) * region.height <= most)
    return sum_part (at, region);
  const int columns = region.width < most ? region.width : most, rows = most / columns;
  Sum sum = 0;
  for (int y = 0, height; y < region.height; y += height) {
    height = region.height - y < rows ? region.height - y : rows;
    for (int x = 0, width; x < region.width; x += width) {
      width = region.width - x < columns ? region.width - x : columns;
      sum += sum_part (at, { region.x + x, region.y + y, width, height });
    }
  }
  return sum;
}

}  // namespace inthist
