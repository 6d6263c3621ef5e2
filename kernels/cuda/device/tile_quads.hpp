// SPDX-License-Identifier: LGPL-2.1-or-later
//
// H of four neighbouring columns in tiles (tiles.hpp), the first of which four divides. They lie in
// one tile and share loads: a word of inside, two of top, and the corner and left of all.
#pragma once

#include <cstddef>
#include <cstdint>

#include <vector_types.h>

#include "../../tiles.hpp"

namespace inthist::cuda {

constexpr int kQuad = 4;

struct Quad {
  std::uint32_t at[kQuad];
};

/// Where a quad lies in each plane, whose tiles are not wide.
class QuadPlace {
public:
  QuadPlace () = default;
  /// `row_pitch` is the bytes of a row of tiles; a plane has less than 2^32.
  INTHIST_HOST_DEVICE QuadPlace (unsigned row_pitch, int y, int x)
      : i_ (unsigned (y) % kTileSide), j_ (unsigned (x) % kTileSide),
        tile_ (unsigned (y) / kTileSide * row_pitch + unsigned (x) / kTileSide * Tiles{}.bytes ()),
        row_ (tile_ + kTileSide * Tiles{}.line_of (int (i_)))
  {
  }

  /// Has no branches, so that loads of several quads are in flight at once.
  INTHIST_HOST_DEVICE Quad load (const std::uint8_t *plane) const
  {
    const std::uint8_t *const tile = plane + tile_, *const row = plane + row_,
                              *const line_2 = tile + 2 * kTileSide;
    uint2 top = *reinterpret_cast<const uint2 *> (tile + 2 * j_);
    std::uint32_t inside = *reinterpret_cast<const std::uint32_t *> (row + j_),
                  left = row[0] | std::uint32_t (line_2[i_]) << 8;
    const std::uint32_t corner =
        *reinterpret_cast<const std::uint16_t *> (tile) | std::uint32_t (line_2[0]) << 16;
    const std::uint32_t below = i_ > 0 ? ~0u : 0, right = j_ > 0 ? ~0u : 0;
    top.x &= right | 0xffff0000;
    inside &= below & (right | 0xffffff00);
    left &= below;
    const std::uint32_t first = corner + left;
    return {
      { first + (top.x & 0xffff) + (inside & 0xff), first + (top.x >> 16) + (inside >> 8 & 0xff),
        first + (top.y & 0xffff) + (inside >> 16 & 0xff), first + (top.y >> 16) + (inside >> 24) }
    };
  }

private:
  unsigned i_, j_, tile_, row_;
};

}  // namespace inthist::cuda
