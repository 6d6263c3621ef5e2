// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The fields of a tile whose sum is one element of the integral histogram, for kernels in which
// each lane reads one field.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../../tiles.hpp"

namespace inthist::cuda {

/// How to read a field, one of the numbers of a tile (tiles.hpp): the offset in the plane of the
/// aligned word with the field, and the selector of bytes for __byte_perm (word, 0, bytes).
struct FieldCut {
  std::size_t word;
  std::uint32_t bytes;
};

constexpr int kFieldsOfLanes = 8;  // lanes for an element; wide tiles (9 fields) take two turns

/// The place of element (i, j) in a tile (tiles.hpp). The integral histogram there is the sum of
/// these numbered fields:
///
///   0  the corner, bits 0..15     3  left[i], bits 8..15     6  wide: the corner, bits 24..31
///   1  top[j], bits 0..15         4  left[i], bits 0..7      7  wide: left[i], bits 16..23
///   2  the corner, bits 16..23    5  inside[i][j]            8  wide: top[j], bits 16..23
class TilePlace {
public:
  HOST_DEVICE TilePlace (const Tiles &tiles, std::size_t row_pitch, int y, int x)
      : tile_ (Tiles::offset_of (tiles.wide, row_pitch, y, x)), i_ (unsigned (y) % kTileSide),
        j_ (unsigned (x) % kTileSide), own_line_ (tiles.line_of (int (i_))),
        fields_ (tiles.wide ? 9 : 6)
  {
  }

  /// Returns how to read a field of the tile by its number. The field reads as 0 if it does not
  /// exist or if `counts` is false. There are no branches, because each lane reads another field.
  HOST_DEVICE FieldCut cut (unsigned number, bool counts) const
  {
    const bool is_field = number < fields_, of_i = 0xb8 >> number & 1, of_j = 0x122 >> number & 1,
               pair = number < 2, in_row = number == 4 || number == 5;
    const unsigned line = in_row ? own_line_ : digit (0x343002200, number),
                   to = digit (0x223001200, number),
                   column = pair              ? 2 * j_ * number
                            : of_j            ? j_
                            : of_i && !in_row ? i_
                                              : 0;
    const unsigned offset = is_field ? kTileSide * line + column : 0, at = offset % 4;
    const std::uint32_t bytes = pair ? 0x4400 | (at + 1) << 4 | at : kNothing ^ (4 ^ at) << 4 * to;
    return { tile_ + offset - at,
             counts && is_field && (i_ > 0 || !of_i) && (j_ > 0 || !of_j) ? bytes : kNothing };
  }

private:
  static constexpr std::uint32_t kNothing = 0x4444;  // a selector that makes 0

  HOST_DEVICE static unsigned digit (std::uint64_t digits, unsigned number)
  {
    return digits >> 4 * number & 15;
  }

  std::size_t tile_;
  unsigned i_, j_, own_line_, fields_;
};

}  // namespace inthist::cuda
