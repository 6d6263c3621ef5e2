// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The right tensor, made by plain loops of its own, as inthist::reference is the strategy "serial",
// which is checked too. Integers are compared bit for bit. Floats may differ from the exact sum by
// what inthist.hpp states at Shape, or not at all if all partial sums are integers that the type
// holds; a NaN is always wrong.
#pragma once

#include <string>

#include "memory.hpp"

namespace inthist::check {

/// A tensor in bytes: its first byte is at `front`, and `layout` is its layout.
struct Tensor {
  const Bytes &bytes;
  std::size_t front;
  Layout layout;
};

class Truth {
public:
  /// Throws if it is itself wrong about a small histogram, counted rectangle by rectangle.
  Truth (const Shape &shape, Bytes pixels, std::size_t stride);

  /// Says what is wrong, with the first wrong (bin, y, x); empty if nothing is. Every byte outside
  /// the elements must be `around`.
  std::string difference (const Tensor &got, std::uint8_t around) const;

  /// Compares only the elements.
  std::string difference (const Tensor &got) const;

  /// Compares the tensor of an integral function that puts a row and a column of zeros before each
  /// plane. For a histogram the function counts `scale` for a pixel, modulo 2^32.
  std::string difference_with_border (const Tensor &got, std::uint32_t scale = 1) const;

  const Shape shape;

private:
  /// Says what is wrong in a row of tiles that differs: the first H, or else the first byte.
  std::string wrong_tile (const Tensor &got, int plane, int row) const;

  const std::uint8_t *wanted_row (int plane, int y) const
  {
    return &wanted_[plane * layout_.plane_pitch + y * layout_.row_pitch];
  }

  const Layout layout_;
  const Bytes pixels_;
  const std::size_t stride_;
  Bytes wanted_;  // the tensor, of integers
};

}  // namespace inthist::check
