// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The truth about a rectangle: the counts or the sums of its pixels, one by one. A picture has
// 8-bit values, row by row and without gaps. A rectangle is any struct of x, y, width and height.
// It may lie anywhere: only its part inside the picture counts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

using Sums = std::vector<std::uint64_t>;  // of each plane

/// Calls `see` with the value of each pixel.
template <class Rectangle, class See>
void each_pixel (std::span<const std::uint8_t> picture, int width, const Rectangle &rectangle,
                 See &&see)
{
  const std::int64_t height = std::int64_t (picture.size ()) / width;
  const auto &[x0, y0, w, h] = rectangle;
  const std::int64_t right = std::min<std::int64_t> (std::int64_t (x0) + w, width),
                     bottom = std::min<std::int64_t> (std::int64_t (y0) + h, height);
  for (std::int64_t y = std::max<std::int64_t> (y0, 0); y < bottom; y++)
    for (std::int64_t x = std::max<std::int64_t> (x0, 0); x < right; x++)
      see (picture[std::size_t (y * width + x)]);
}

/// Counts the pixels of each of `bins` uniform bins.
template <class Rectangle>
Sums count_pixels (std::span<const std::uint8_t> picture, int width, const Rectangle &rectangle,
                   int bins)
{
  Sums counts (static_cast<std::size_t> (bins));
  each_pixel (picture, width, rectangle,
              [&] (int value) { counts[std::size_t (value * bins / 256)]++; });
  return counts;
}

/// Counts the pixels of a rectangle that lie in the picture.
template <class Rectangle>
std::uint64_t pixels_in (std::span<const std::uint8_t> picture, int width,
                         const Rectangle &rectangle)
{
  std::uint64_t pixels = 0;
  each_pixel (picture, width, rectangle, [&] (int) { pixels++; });
  return pixels;
}

/// Counts the pixels of each bin, by a table of bins; pixels of other bins do not count.
template <class Rectangle>
Sums count_pixels (std::span<const std::uint8_t> picture, int width, const Rectangle &rectangle,
                   int bins, std::span<const std::uint8_t, 256> bin_of_value)
{
  Sums counts (static_cast<std::size_t> (bins));
  each_pixel (picture, width, rectangle, [&] (int value) {
    if (const int bin = bin_of_value[std::size_t (value)]; bin < bins)
      counts[std::size_t (bin)]++;
  });
  return counts;
}

/// Adds up the values, and in a second plane their squares.
template <class Rectangle>
Sums add_pixels (std::span<const std::uint8_t> picture, int width, const Rectangle &rectangle,
                 int planes)
{
  Sums sums (static_cast<std::size_t> (planes));
  each_pixel (picture, width, rectangle, [&] (std::uint64_t value) {
    std::uint64_t power = 1;
    for (std::uint64_t &sum : sums)
      sum += power *= value;
  });
  return sums;
}
