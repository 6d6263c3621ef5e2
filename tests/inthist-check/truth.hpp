// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What must come out, made by plain loops of its own: inthist::reference is the strategy "serial",
// and so it is checked, too. Integers are compared bit for bit. Floats may differ from the exact
// sum by what inthist.hpp states at Shape, by nothing where all partial sums are integers that the
// type holds, and a NaN is always wrong.
#pragma once

#include <string>

#include "memory.hpp"

namespace inthist::check {

/// Bytes, the first of a tensor among them, and how it lies there.
struct Tensor {
  const Bytes &bytes;
  std::size_t front;
  Layout layout;
};

class Truth {
public:
  /// Throws where it is itself wrong about a small histogram, counted rectangle by rectangle.
  Truth (const Shape &shape, Bytes pixels, std::size_t stride);

  /// Says what is wrong, with the first wrong (bin, y, x); empty where nothing is. Every byte
  /// outside the elements must be `around`.
  std::string difference (const Tensor &got, std::uint8_t around) const;

  /// The elements alone.
  std::string difference (const Tensor &got) const;

  /// The same for integral functions that put a row and a column of zeros before a plane. Of a
  /// histogram they count `scale` for a pixel, modulo 2^32.
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
