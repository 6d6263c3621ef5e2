// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tensor as planes of elements. A strategy for any shape is a template over the element type T
// and a Source (plane, y, x) of what a pixel adds (see Content); with_element_types picks them.
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

/// The Source for Content::weights.
struct Weights {
  PixelPlane pixels;
  int bins;

  INTHIST_HOST_DEVICE std::uint32_t operator() (int plane, int y, int x) const
  {
    const auto *const row =
        reinterpret_cast<const WeightedPixel *> (pixels.data + y * pixels.stride);
    return row[x].to (plane, bins);
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

/// Hands over a type of elements, and the Source that they are made of.
template <class T, class Source>
struct ElementTypes {
};

template <class T, class Pixel>
using TableTypes = ElementTypes<T, Power<Pixel, T>>;

/// Calls `body` with the ElementTypes of a valid table. s32 is u32: the bits are the same.
template <class Body>
auto with_table_types (const Shape &shape, Body &&body)
{
  switch (shape.pixel) {
    case Type::u32: return body (TableTypes<std::uint32_t, std::uint32_t> ());
    case Type::f32: return body (TableTypes<float, float> ());
    case Type::f64: return body (TableTypes<double, double> ());
    case Type::f32x4: return body (TableTypes<F32x4, F32x4> ());
    case Type::u8:
    case Type::u16:
    case Type::s32:
    case Type::u8_tiled: break;  // u8, as the others are never of pixels
  }
  return shape.counter == Type::f32 ? body (TableTypes<float, std::uint8_t> ())
                                    : body (TableTypes<std::uint32_t, std::uint8_t> ());
}

/// Calls `body` with the ElementTypes of any valid shape but those of tiles and of weights.
template <class Body>
auto with_element_types (const Shape &shape, Body &&body)
{
  if (shape.content == Content::powers)
    return with_table_types (shape, body);
  return shape.counter == Type::u32 ? body (ElementTypes<std::uint32_t, OneHot> ())
                                    : body (ElementTypes<std::uint16_t, OneHot> ());
}

}  // namespace inthist
