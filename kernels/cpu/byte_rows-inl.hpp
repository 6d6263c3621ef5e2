// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The vector code of byte-rows, which is compiled once for each instruction set. Some tiles side by
// side are made at a time. Down their columns, then along their rows, in four shifted additions,
// equal-or-not bytes add up to what a tile has in rows 1..i and columns 0..j: at most 15 x 16. Less
// column 0 that is inside[i][j]; column 0, and what the tiles before have in rows 1..i, is left[i].

// A guard for each instruction set, as Highway's own files have
#if defined(INTHIST_CPU_BYTE_ROWS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef INTHIST_CPU_BYTE_ROWS_INL_HPP
#undef INTHIST_CPU_BYTE_ROWS_INL_HPP
#else
#define INTHIST_CPU_BYTE_ROWS_INL_HPP
#endif

#include <hwy/cache_control.h>

#include "../tiles.hpp"
#include "columns-inl.hpp"

HWY_BEFORE_NAMESPACE ();
namespace inthist::cpu::HWY_NAMESPACE {

constexpr int kAtOnce = 64, kTilesAtOnce = kAtOnce / kTileSide;  // columns, tiles

/// What a bin has in a row of tiles, kAtOnce columns of it.
struct Counts {
  alignas (64) std::uint8_t first[kAtOnce];              // each column in row 0
  alignas (64) std::uint8_t others[kAtOnce];             // each column in rows 1..15
  alignas (64) std::uint8_t inside[kTileSide][kAtOnce];  // rows 1..i, columns 0..j of a tile
};

/// Rows of pixels that a row of tiles is of; there may be fewer than 16.
struct PixelRows {
  const std::uint8_t *pixels;
  std::size_t stride;
  int n;
};

/// Counts columns x..x + kAtOnce - 1, of which those from `columns` on are beyond the frame.
HWY_INLINE void count_tiles (const PixelRows &rows, int x, int columns, std::uint8_t bin,
                             Counts &counts)
{
  const hn::CappedTag<std::uint8_t, kAtOnce> d;
  const auto wanted = hn::Set (d, bin), one = hn::Set (d, 1);
  for (int at = 0; at < kAtOnce; at += int (hn::Lanes (d))) {
    const auto in_frame = hn::IfThenElseZero (hn::FirstN (d, std::max (0, columns - at)), one);
    const auto pixels = [&] (int i) HWY_ATTR {
      const auto bins = hn::LoadU (d, rows.pixels + i * rows.stride + x + at);
      return hn::IfThenElseZero (hn::Eq (bins, wanted), in_frame);
    };
    hn::Store (pixels (0), d, counts.first + at);
    auto column = hn::Zero (d);
    for (int i = 1; i < kTileSide; i++) {
      if (i < rows.n)
        column = hn::Add (column, pixels (i));
      auto sum = column;
#if HWY_TARGET != HWY_SCALAR
      sum = hn::Add (sum, hn::ShiftLeftBytes<1> (d, sum));
      sum = hn::Add (sum, hn::ShiftLeftBytes<2> (d, sum));
      sum = hn::Add (sum, hn::ShiftLeftBytes<4> (d, sum));
      sum = hn::Add (sum, hn::ShiftLeftBytes<8> (d, sum));
#endif
      hn::Store (sum, d, counts.inside[i] + at);
    }
    hn::Store (column, d, counts.others + at);
  }
#if HWY_TARGET == HWY_SCALAR
  for (int i = 1; i < kTileSide; i++)
    for (int at = 0; at < kAtOnce; at++)
      if (at % kTileSide != 0)
        counts.inside[i][at] += counts.inside[i][at - 1];
#endif
}

/// Writes a line of a tile, past the caches.
HWY_INLINE void write_line (const std::uint8_t *line, std::uint8_t *out)
{
#if HWY_TARGET == HWY_SCALAR
  std::memcpy (out, line, kTileSide);
#else
  const hn::FixedTag<std::uint8_t, kTileSide> d;
  hn::Stream (hn::Load (d, line), d, out);
#endif
}

/// Writes the line of a row of a tile, of what rows 1..i have in columns 0..j, and of left[i].
HWY_INLINE void write_row (const std::uint8_t *sums, std::uint8_t left, std::uint8_t *out)
{
#if HWY_TARGET == HWY_SCALAR
  out[0] = left;
  for (int j = 1; j < kTileSide; j++)
    out[j] = std::uint8_t (sums[j] - sums[0]);
#else
  const hn::FixedTag<std::uint8_t, kTileSide> d;
  const auto line = hn::Load (d, sums),
             inside = hn::Sub (line, hn::TableLookupBytes (line, hn::Zero (d)));
  hn::Stream (hn::InsertLane (inside, 0, left), d, out);
#endif
}

/// What a row of tiles has left of the tile at hand.
struct Left {
  std::uint32_t above = 0;             // H in row 0
  std::uint32_t rows[kTileSide] = {};  // in rows 1..i
};

/// Writes a tile. Its columns have `columns` in the rows above.
HWY_INLINE void write_tile (const Tiles &tiles, const Counts &counts, int at,
                            const std::uint32_t *columns, Left &left, std::uint8_t *out)
{
  alignas (kTileSide) std::uint8_t lines[5][kTileSide] = {};  // before those of rows
  const std::uint32_t corner = left.above + columns[0] + counts.first[at];
  std::uint32_t top = 0;
  const auto put_top = [&] (int j, std::uint32_t low, std::uint32_t high) {
    lines[j / 8][j % 8 * 2] = std::uint8_t (low);
    lines[j / 8][j % 8 * 2 + 1] = std::uint8_t (low >> 8);
    lines[3][j] = std::uint8_t (high);
  };
  put_top (0, corner, corner >> 24);
  for (int j = 1; j < kTileSide; j++) {
    top += columns[j] + counts.first[at + j];
    put_top (j, top, top >> 16);
  }
  left.above = corner + top;
  lines[2][0] = std::uint8_t (corner >> 16);
  for (int i = 1; i < kTileSide; i++) {
    const std::uint8_t *const sums = counts.inside[i] + at;
    const std::uint32_t before = left.rows[i] + sums[0];
    lines[2][i] = std::uint8_t (before >> 8);
    lines[4][i] = std::uint8_t (before >> 16);
    write_row (sums, std::uint8_t (before), out + kTileSide * tiles.line_of (i));
    left.rows[i] += sums[kTileSide - 1];
  }
  for (int n = 0; n < tiles.line_of (1); n++)
    write_line (lines[n], out + kTileSide * n);
}

/// Writes the tiles of rows first..last - 1 of a bin below the columns' counts. Returns false if it
/// stopped because the job was cancelled.
bool march_tiles (const Job &job, int bin, int first, int last, std::uint32_t *columns)
{
  const Tiles tiles = tiles_of (job.shape);
  for (int y = first; y < last; y += kTileSide) {
    std::uint8_t *const row = static_cast<std::uint8_t *> (job.tensor)
                              + bin * job.layout.plane_pitch + y / kTileSide * job.layout.row_pitch;
    const PixelRows rows = { job.pixels.data + y * job.pixels.stride, job.pixels.stride,
                             std::min (kTileSide, last - y) };
    Left left;
    for (int x = 0; x < job.shape.width; x += kAtOnce) {
      if (is_set (job.cancelled)) {
        hwy::FlushStream ();
        return false;
      }
      Counts counts;
      count_tiles (rows, x, job.shape.width - x, std::uint8_t (bin), counts);
      for (int at = 0; at < kAtOnce && x + at < job.shape.width; at += kTileSide)
        write_tile (tiles, counts, at, columns + x + at, left,
                    row + std::size_t (x + at) / kTileSide * tiles.bytes ());
      for (int i = 0; i < kAtOnce; i++)
        columns[x + i] += std::uint32_t (counts.first[i]) + counts.others[i];
    }
  }
  hwy::FlushStream ();
  return true;
}

bool count_bin (const Job &job, int bin, int first, int last, std::uint32_t *counts)
{
  return count_columns (job, bin, first, last, counts);
}

}  // namespace inthist::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE ();

#endif
