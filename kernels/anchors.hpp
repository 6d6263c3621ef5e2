// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>
#include <cstdint>

#include "host_device.hpp"
#include "shape.hpp"

namespace inthist {

/// Elements of H in full u32, at every 2^row_shift-th row and 2^column_shift-th column from 0 on.
/// They lie behind the planes of a u16_anchored tensor, at byte plane_pitch * bins, as
/// [plane][row][column] without gaps. From an anchor to any element before the next anchors, H
/// grows by less than 65536, so H = anchor + ((element - anchor) modulo 65536): word-length
/// reduction by overflow (Belt 2008), undone. At 1920x1080 there is one anchor for 512 elements.
struct Anchors {
  int row_shift = 0, column_shift = 0;
  int rows = 0, columns = 0;

  INTHIST_HOST_DEVICE constexpr std::size_t index (int plane, int y, int x) const
  {
    return (std::size_t (plane) * rows + (y >> row_shift)) * columns + (x >> column_shift);
  }
};

/// Returns about the fewest anchors that suffice: H grows by at most the pixels in the rows below
/// an anchor's and in the columns right of it.
constexpr Anchors anchors_of (const Shape &shape)
{
  constexpr std::int64_t kMost = 65535;
  const std::int64_t width = shape.width, height = shape.height;
  Anchors best;
  for (int r = 0; (width << r) <= kMost; r++)  // also bounds the growth to the anchor below
    for (int c = 0; ((1 << r) - 1) * width + ((1 << c) - 1) * height <= kMost && c < 16; c++)
      if (r + c >= best.row_shift + best.column_shift)
        best = { r, c, 0, 0 };
  best.rows = ((shape.height - 1) >> best.row_shift) + 1;
  best.columns = ((shape.width - 1) >> best.column_shift) + 1;
  return best;
}

constexpr std::size_t tensor_bytes (const Shape &shape, const Layout &layout)
{
  const std::size_t planes = layout.plane_pitch * shape.bins;
  if (shape.counter != Type::u16_anchored)
    return planes;
  const Anchors anchors = anchors_of (shape);
  return planes + sizeof (std::uint32_t) * shape.bins * anchors.rows * anchors.columns;
}

/// Fills column j of a plane's anchors from the finished plane: to the anchor below H grows by less
/// than 65536, so the elements tell by how much. `tensor` is a job's.
INTHIST_HOST_DEVICE inline void write_anchor_column (std::uint8_t *tensor, const Layout &layout,
                                                     int planes, const Anchors &anchors, int plane,
                                                     int j)
{
  const int x = j << anchors.column_shift;
  auto *const values = reinterpret_cast<std::uint32_t *> (tensor + planes * layout.plane_pitch);
  std::uint32_t h = 0;
  for (int i = 0; i < anchors.rows; i++) {
    const int y = i << anchors.row_shift;
    const auto *const row = reinterpret_cast<const std::uint16_t *> (
        tensor + plane * layout.plane_pitch + y * layout.row_pitch);
    h += std::uint16_t (row[x] - h);
    values[anchors.index (plane, y, x)] = h;
  }
}

}  // namespace inthist
