// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tiles: a tensor of 1.125 bytes a count, exact for every region. Given its neighbours in a tile of
// 16x16 places, a count adds only one byte of information. If (i, j) is the row and column of a
// place in the tile, both from 0 on, and (0, 0) is the corner,
//
//   H(i, j) = corner + top[j] + left[i] + inside[i][j]
//
//   corner        H (0, 0)
//   top[j]        H (0, j) - H (0, 0): the pixels above and in row 0, in columns 1..j
//   left[i]       H (i, 0) - H (0, 0): the pixels left of and in column 0, in rows 1..i
//   inside[i][j]  the pixels in rows 1..i and columns 1..j: at most 15 x 15, which a byte holds
//
// top[0], left[0], and inside in row 0 and in column 0, are 0 and are not stored. Byte 0 of a line
// has other bits instead. A tile is made of lines of 16 bytes; numbers of several bytes are
// little-endian:
//
//   line      byte 0                            bytes 1..15, of j or of i
//   0 and 1   bits 0..15 of the corner          bits 0..15 of top[j], as u16
//   2         bits 16..23 of the corner         bits 8..15 of left[i]
//   wide: 3   bits 24..31 of the corner         bits 16..23 of top[j]
//   wide: 4   0                                 bits 16..23 of left[i]
//   then, for each i = 1..15:
//             bits 0..7 of left[i]              inside[i][j]
//
// A tile has 288 bytes. If a frame is so large that top, left or corner need more bits, all tiles
// of the frame are wide and have 320 bytes. The places of a tile outside the frame count as pixels
// in no bin. Short counts and their borders come from block-wise word-length reduction (Belt 2008;
// Ehsan and McDonald-Maier 2009). The tile, and where its borders lie, are ours.
#pragma once

#include <cstddef>
#include <cstdint>

#include "host_device.hpp"
#include "shape.hpp"

namespace inthist {

constexpr int kTileSide = 16;  // rows and columns of a tile, and bytes of a line of a tile
// The most rows and columns of a frame: a tile has 24 bits for the sums above and to the left.
constexpr int kMaxTiledSide = 1 << 20;

struct Tiles {
  int columns = 0, rows = 0;  // tiles in a plane
  bool wide = false;

  /// Returns which line of a tile has inside[i], the counts of the tile's row i; i is at least 1.
  HOST_DEVICE static constexpr int line_of (bool wide, int i) { return (wide ? 4 : 2) + i; }
  HOST_DEVICE static constexpr int bytes (bool wide)
  {
    return kTileSide * line_of (wide, kTileSide);
  }

  /// Returns the offset in bytes, from the start of a plane, of the tile with element (y, x).
  template <class Bytes>
  HOST_DEVICE static constexpr Bytes offset_of (bool wide, Bytes row_pitch, int y, int x)
  {
    return unsigned (y) / kTileSide * row_pitch + Bytes (unsigned (x) / kTileSide) * bytes (wide);
  }

  HOST_DEVICE constexpr int line_of (int i) const { return line_of (wide, i); }
  HOST_DEVICE constexpr int bytes () const { return bytes (wide); }
};

constexpr Tiles tiles_of (const Shape &shape)
{
  constexpr int kMaxSide = 0xffff / (kTileSide - 1);
  const int columns = (shape.width - 1) / kTileSide + 1, rows = (shape.height - 1) / kTileSide + 1;
  const std::int64_t last_corner =
      (std::int64_t (columns - 1) * kTileSide + 1) * (std::int64_t (rows - 1) * kTileSide + 1);
  return { columns, rows,
           shape.width > kMaxSide || shape.height > kMaxSide || last_corner >= 1 << 24 };
}

/// Reads the tensor's element (y, x) in a plane of tiles; `row` is the bytes of a row of tiles. In
/// row 0 or column 0 of a tile, bytes that mean nothing are loaded and masked, because a branch
/// would keep loads from being in flight at once.
struct TiledElements {
  const std::uint8_t *plane;
  std::size_t row;
  Tiles tiles;

  HOST_DEVICE const std::uint8_t *tile (int y, int x) const
  {
    return plane + Tiles::offset_of (tiles.wide, row, y, x);
  }

  /// Returns the tensor's element in row i and column 0 of a tile.
  HOST_DEVICE std::uint32_t left (const std::uint8_t *tile, unsigned i) const
  {
    const auto line = [tile] (int n) { return tile + kTileSide * n; };
    const std::uint32_t below = i > 0 ? ~0u : 0;
    std::uint32_t h = *reinterpret_cast<const std::uint16_t *> (tile);
    h += std::uint32_t (line (2)[0]) << 16;
    h += (line (tiles.line_of (int (i)))[0] + (std::uint32_t (line (2)[i]) << 8)) & below;
    if (tiles.wide)
      h += (std::uint32_t (line (3)[0]) << 24) + ((std::uint32_t (line (4)[i]) << 16) & below);
    return h;
  }

  HOST_DEVICE std::uint32_t operator() (int y, int x) const
  {
    const unsigned i = unsigned (y) % kTileSide, j = unsigned (x) % kTileSide;
    const std::uint8_t *const tile = this->tile (y, x);
    const std::uint32_t below = i > 0 ? ~0u : 0, right = j > 0 ? ~0u : 0;
    std::uint32_t h = left (tile, i);
    h += reinterpret_cast<const std::uint16_t *> (tile)[j] & right;
    h += tile[kTileSide * tiles.line_of (int (i)) + j] & below & right;
    if (tiles.wide)
      h += (std::uint32_t (tile[kTileSide * 3 + j]) << 16) & right;
    return h;
  }
};

}  // namespace inthist
