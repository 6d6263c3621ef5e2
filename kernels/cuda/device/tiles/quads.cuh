// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Loads a quad: the integral histogram in four neighbouring columns of a tensor in tiles
// (tiles.hpp). The first column is a multiple of four, so the four elements lie in one tile and
// share loads: one word of `inside`, two words of `top`, and the corner and left[i].
#pragma once

#include <cstdint>

#include <vector_types.h>

#include "../../../tiles.hpp"

namespace inthist::cuda {

constexpr int kQuad = 4;

struct Quad {
  std::uint32_t at[kQuad];
};

/// The place of a quad (four neighbouring elements of the integral histogram) in any plane.
template <bool kWide>
class QuadPlace {
public:
  QuadPlace () = default;
  /// `row_pitch` is the number of bytes of a row of tiles. A plane has less than 2^32 bytes.
  HOST_DEVICE QuadPlace (unsigned row_pitch, int y, int x)
      : i_ (unsigned (y) % kTileSide), j_ (unsigned (x) % kTileSide),
        tile_ (Tiles::offset_of (kWide, row_pitch, y, x)),
        row_ (tile_ + kTileSide * Tiles::line_of (kWide, int (i_)))
  {
  }

  /// Loads a quad's four elements without branches, so that loads of several quads overlap.
  HOST_DEVICE Quad load (const std::uint8_t *plane) const
  {
    const std::uint8_t *const tile = plane + tile_, *const row = plane + row_;
    const auto line = [&] (int n) { return tile + kTileSide * n; };
    const std::uint32_t below = i_ > 0 ? ~0u : 0, right = j_ > 0 ? ~0u : 0;
    uint2 top = *reinterpret_cast<const uint2 *> (tile + 2 * j_);
    std::uint32_t corner = *reinterpret_cast<const std::uint16_t *> (tile)
                           | std::uint32_t (line (2)[0]) << 16,
                  left = row[0] | std::uint32_t (line (2)[i_]) << 8,
                  inside = *reinterpret_cast<const std::uint32_t *> (row + j_), high_top = 0;
    if constexpr (kWide) {
      corner |= std::uint32_t (line (3)[0]) << 24;
      left |= std::uint32_t (line (4)[i_]) << 16;
      high_top = *reinterpret_cast<const std::uint32_t *> (line (3) + j_);
    }
    top.x &= right | 0xffff0000;
    high_top &= right | 0xffffff00;
    inside &= below & (right | 0xffffff00);
    const std::uint32_t first = corner + (left & below);
    return { { first + (top.x & 0xffff) + (high_top << 16 & 0xff0000) + (inside & 0xff),
               first + (top.x >> 16) + (high_top << 8 & 0xff0000) + (inside >> 8 & 0xff),
               first + (top.y & 0xffff) + (high_top & 0xff0000) + (inside >> 16 & 0xff),
               first + (top.y >> 16) + (high_top >> 8 & 0xff0000) + (inside >> 24) } };
  }

private:
  unsigned i_, j_, tile_, row_;
};

}  // namespace inthist::cuda
