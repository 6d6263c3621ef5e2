// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shape.hpp"

#include <utility>

#include "rounding.hpp"
#include "tiles.hpp"

namespace inthist {

bool is_valid (const Shape &shape)
{
  if (shape.width < 1 || shape.height < 1 || shape.bins < 1)
    return false;
  const auto [pixel, counter] = std::pair (shape.pixel, shape.counter);
  if (shape.content == Content::bins)
    return pixel == Type::u8 && shape.bins <= kMaxBins
           && (counter == Type::u32 || counter == Type::u16
               || (counter == Type::u8_tiled && shape.width <= kMaxTiledSide
                   && shape.height <= kMaxTiledSide));
  if (shape.content == Content::weights)
    return pixel == Type::u32 && counter == Type::u32 && shape.bins <= kMaxBins;
  if (pixel == Type::u8)
    return counter == Type::u32 ? shape.bins <= 2
                                : (counter == Type::s32 || counter == Type::f32) && shape.bins == 1;
  return (pixel == Type::u32 || pixel == Type::f32 || pixel == Type::f64 || pixel == Type::f32x4)
         && counter == pixel && shape.bins == 1;
}

Rows rows_of (const Shape &shape)
{
  if (shape.counter != Type::u8_tiled)
    return { shape.height, shape.width * bytes_of (shape.counter) };
  const Tiles tiles = tiles_of (shape);
  return { tiles.rows, tiles.columns * std::size_t (tiles.bytes ()) };
}

Layout layout_of (const Shape &shape)
{
  const auto [n, bytes] = rows_of (shape);
  const std::size_t row = round_up (bytes, 64);
  return { row, row * n };
}

}  // namespace inthist
