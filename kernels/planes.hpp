// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tensor as planes of elements. A strategy for any shape is a template over the element type T
// and over a Source (plane, y, x) of what a pixel adds (see Content); with_elements picks them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "host_device.hpp"
#include "inthist.hpp"

namespace inthist {

/// Four channels (Bilgic et al. 2010, section V).
struct alignas (16) F32x4 {
  float channels[4];

  F32x4 () = default;
  INTHIST_HOST_DEVICE explicit F32x4 (float value) : channels{ value, value, value, value } {}
  INTHIST_HOST_DEVICE F32x4 &operator+= (const F32x4 &other)
  {
    for (int c = 0; c < 4; c++)
      channels[c] += other.channels[c];
    return *this;
  }
  INTHIST_HOST_DEVICE friend F32x4 operator+ (F32x4 a, const F32x4 &b) { return a += b; }
};

template <class T>
struct Planes {
  T *data;
  int width, height, count;
  std::size_t row, plane;  // strides, in elements

  INTHIST_HOST_DEVICE T *line (int p, int y) const { return data + p * plane + y * row; }

  /// Lays planes out in a workspace, rows aligned to 128 bytes.
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

/// The Source for Content::bins.
struct OneHot {
  PixelPlane pixels;
  INTHIST_HOST_DEVICE int operator() (int plane, int y, int x) const
  {
    return pixels.data[y * pixels.stride + x] == plane;
  }
};

/// The Source for Content::powers.
template <class P, class T>
struct Power {
  using Pixel = P;
  PixelPlane pixels;

  INTHIST_HOST_DEVICE static T power (Pixel pixel, int plane)
  {
    const T value = T (pixel);
    if constexpr (std::is_same_v<Pixel, std::uint8_t>)
      if (plane == 1)
        return value * value;
    return value;
  }
  INTHIST_HOST_DEVICE T operator() (int plane, int y, int x) const
  {
    return power (reinterpret_cast<const Pixel *> (pixels.data + y * pixels.stride)[x], plane);
  }
};

template <class T, class Source>
struct Elements {
};

/// Calls `body` with the Elements of a valid shape. s32 is u32: modulo 2^32 the bits are the same.
template <class Body>
auto with_elements (const Shape &shape, Body &&body)
{
  if (shape.content == Content::bins)
    return shape.counter == Type::u32 ? body (Elements<std::uint32_t, OneHot> ())
                                      : body (Elements<std::uint16_t, OneHot> ());
  switch (shape.pixel) {
    case Type::u32: return body (Elements<std::uint32_t, Power<std::uint32_t, std::uint32_t>> ());
    case Type::f32: return body (Elements<float, Power<float, float>> ());
    case Type::f64: return body (Elements<double, Power<double, double>> ());
    case Type::f32x4: return body (Elements<F32x4, Power<F32x4, F32x4>> ());
    default:
      return shape.counter == Type::f32
                 ? body (Elements<float, Power<std::uint8_t, float>> ())
                 : body (Elements<std::uint32_t, Power<std::uint8_t, std::uint32_t>> ());
  }
}

}  // namespace inthist
