// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The types of elements that papers compute. A published algorithm is a template with two
// parameters: the type T of elements, and a Source, which returns what a pixel adds.
// with_element_types () chooses both. The plugin computes only histograms and tables of u8 to u32;
// the other types are only for inthist-check.
#pragma once

#include "../planes.hpp"

namespace inthist {

/// An element of four channels (Bilgic et al. 2010, section V).
struct alignas (16) F32x4 {
  float channels[4];

  F32x4 () = default;
  HOST_DEVICE explicit F32x4 (float value) : channels{ value, value, value, value } {}
  HOST_DEVICE F32x4 &operator+= (const F32x4 &other)
  {
    for (int c = 0; c < 4; c++)
      channels[c] += other.channels[c];
    return *this;
  }
  HOST_DEVICE friend F32x4 operator+ (F32x4 a, const F32x4 &b) { return a += b; }
};

/// Passes two types to a function: the type T of elements, and the Source of their values.
template <class T, class Source>
struct ElementTypes {
};

template <class T, class Pixel>
using TableTypes = ElementTypes<T, Power<Pixel, T>>;

/// Calls `body` with the ElementTypes of a table, except tables of u8 pixels with integer elements.
template <class Body>
auto with_other_types (const Shape &shape, Body &&body)
{
  if (shape.pixel == Type::u8)
    return body (TableTypes<float, std::uint8_t> ());
  if (shape.pixel == Type::u32)
    return body (TableTypes<std::uint32_t, std::uint32_t> ());
  if (shape.pixel == Type::f32)
    return body (TableTypes<float, float> ());
  return shape.pixel == Type::f64 ? body (TableTypes<double, double> ())
                                  : body (TableTypes<F32x4, F32x4> ());
}

/// Calls `body` with the ElementTypes (T and Source) of a summed-area table. Elements of s32 are
/// computed as u32, because the bits are the same.
template <class Body>
auto with_table_types (const Shape &shape, Body &&body)
{
  return shape.pixel == Type::u8 && !is_floating (shape.counter)
             ? body (TableTypes<std::uint32_t, std::uint8_t> ())
             : with_other_types (shape, body);
}

/// Calls `body` with the ElementTypes (T and Source) of a tensor, but not of tiles or weights.
template <class Body>
auto with_element_types (const Shape &shape, Body &&body)
{
  if (shape.content == Content::sums)
    return with_table_types (shape, body);
  return shape.counter == Type::u32 ? body (ElementTypes<std::uint32_t, OneHot> ())
                                    : body (ElementTypes<std::uint16_t, OneHot> ());
}

}  // namespace inthist
