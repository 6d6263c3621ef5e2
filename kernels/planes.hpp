// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The planes of a tensor, as strategies write them, and sources: source (plane, y, x) returns what
// the pixel in row y and column x adds to a plane (see Content in shape.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "host_device.hpp"
#include "inthist.hpp"

namespace inthist {

template <class T>
struct Planes {
  T *data;
  int width, height, count;
  std::size_t row, plane;  // strides, in elements

  HOST_DEVICE T *line (int p, int y) const { return data + p * plane + y * row; }

  /// Returns planes that lie one after another in a workspace, with rows aligned to 128 bytes.
  static Planes packed (void *memory, int width, int height, int count)
  {
    const std::size_t row = round_up (std::size_t (width) * sizeof (T), 128) / sizeof (T);
    return { static_cast<T *> (memory), width, height, count, row, row * height };
  }
  std::size_t bytes () const { return plane * count * sizeof (T); }
  Planes one (int p) const { return { data + p * plane, width, height, 1, row, plane }; }
  Planes transposed (void *memory) const { return packed (memory, height, width, count); }
};

template <class T>
Planes<T> planes_of (const Shape &shape, const Layout &layout, void *tensor)
{
  return { static_cast<T *> (tensor),
           shape.width,
           shape.height,
           shape.bins,
           layout.row_pitch / sizeof (T),
           layout.plane_pitch / sizeof (T) };
}

/// The summand of a pixel in an integral histogram: 1 in the plane of its bin, and 0 in the others.
struct OneHot {
  PixelPlane pixels;
  HOST_DEVICE int operator() (int plane, int y, int x) const
  {
    return pixels.data[y * pixels.stride + x] == plane;
  }
};

/// The summand of a pixel in an integral histogram of weights: the weight for the bin of the plane.
struct Weights {
  PixelPlane pixels;
  int bins;

  HOST_DEVICE std::uint32_t operator() (int plane, int y, int x) const
  {
    const auto *const row =
        reinterpret_cast<const WeightedPixel *> (pixels.data + y * pixels.stride);
    return row[x].to (plane, bins);
  }
};

/// The summand of a pixel in a summed-area table: the value in plane 0, its square in plane 1.
template <class P, class T>
struct Power {
  using Pixel = P;
  PixelPlane pixels;

  HOST_DEVICE static T power (Pixel pixel, int plane)
  {
    const T value = T (pixel);
    if constexpr (std::is_same_v<Pixel, std::uint8_t>)
      if (plane == 1)
        return value * value;
    return value;
  }
  HOST_DEVICE T operator() (int plane, int y, int x) const
  {
    return power (reinterpret_cast<const Pixel *> (pixels.data + y * pixels.stride)[x], plane);
  }
};

}  // namespace inthist
