// SPDX-License-Identifier: LGPL-2.1-or-later
//
// byte-rows: a CPU strategy that computes the tiles (tiles.hpp) of a row of tiles from left to
// right, and writes each tile once, as a whole. A task computes one bin in one strip of rows of
// tiles (strips.hpp), and keeps, for each column, the number of pixels of the bin so far. The
// prefix sums of these numbers are the tensor in a tile's first row. Traffic: 1.125 bytes an
// element written, past the caches, and the bin indices (1 byte a pixel) once a bin from L2.
//
// The vector code is compiled once for each instruction set. It computes kTilesAtOnce tiles side by
// side. Bytes that tell which pixels are in the bin are added up down the columns, and then,
// without column 0, along the rows in four shifted additions: that gives inside[i][j]. left[i] is
// the sum, over rows 1..i, of column 0 and of all tiles further left.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "../tiles.hpp"
#include "strips.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/byte_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "columns-inl.hpp"

HWY_BEFORE_NAMESPACE ();
namespace inthist::cpu::HWY_NAMESPACE {

constexpr int kAtOnce = 64, kTilesAtOnce = kAtOnce / kTileSide;  // columns, tiles

/// The rows of pixels that a row of tiles covers: 16, or fewer at the lower end of the frame.
struct PixelRows {
  const std::uint8_t *pixels;
  std::size_t stride;
  int n;
};

/// A bin's counts in kAtOnce columns of a row of tiles (tiles.hpp). sides[i / 8][tile][i % 8] has,
/// in its lower byte, column 15 of inside[i], and in its upper byte the count of column 0 in rows
/// 1..i.
struct Counts {
  alignas (64) std::uint8_t top[kAtOnce];                // each column in row 0
  alignas (64) std::uint8_t below[kAtOnce];              // each column in rows 1..15
  alignas (64) std::uint8_t inside[kTileSide][kAtOnce];  // rows 1..i, columns 1..j
  alignas (64) std::uint16_t sides[2][kTilesAtOnce][kTileSide / 2];
};

/// Fills the counts of columns x..x + kAtOnce - 1; columns from x + `columns` on count as empty.
#if HWY_TARGET == HWY_SCALAR
inline void count_tiles (const PixelRows &rows, int x, int columns, std::uint8_t bin,
                         Counts &counts)
{
  counts = {};
  for (int i = 0; i < kTileSide; i++)
    for (int at = 0; at < kAtOnce; at++) {
      if (i < rows.n && at < columns && rows.pixels[i * rows.stride + x + at] == bin)
        (i == 0 ? counts.top : counts.below)[at]++;
      std::uint16_t &side = counts.sides[i / 8][at / kTileSide][i % 8];
      if (at % kTileSide == 0)
        side = std::uint16_t (counts.below[at] << 8);
      else
        counts.inside[i][at] = std::uint8_t (counts.inside[i][at - 1] + counts.below[at]);
      if (at % kTileSide == kTileSide - 1)
        side = std::uint16_t (side | counts.inside[i][at]);
    }
}

template <class T>
T scan_top (const Counts &counts, int t, T *columns, T *top)
{
  T first = 0, sum = 0;
  for (int j = 0; j < kTileSide; j++) {
    const T count = T (columns[j] + counts.top[t * kTileSide + j]);
    columns[j] = T (count + counts.below[t * kTileSide + j]);
    top[j] = sum = T (j == 0 ? 0 : sum + count);
    if (j == 0)
      first = count;
  }
  return first;
}

template <class T>
void add_left (const Counts &counts, int t, T *before, T *left)
{
  for (int i = 0; i < kTileSide; i++) {
    const std::uint16_t side = counts.sides[i / 8][t][i % 8];
    left[i] = T (before[i] + (side >> 8));
    before[i] = T (left[i] + (side & 0xff));
  }
}

template <class Number, class Half>
void split (const Number *numbers, Half *low, Half *high)
{
  for (int i = 0; i < kTileSide; i++) {
    low[i] = Half (numbers[i]);
    high[i] = Half (numbers[i] >> 8 * sizeof (Half));
  }
}

template <class T>
void write_line (const T *line, T first, std::uint8_t *out)
{
  std::memcpy (out, line, kTileSide);
  std::memcpy (out, &first, sizeof first);
}
inline void write_rows (const Counts &counts, int t, const std::uint8_t *low_left,
                        std::uint8_t *out)
{
  for (int i = 1; i < kTileSide; i++, out += kTileSide)
    write_line (counts.inside[i] + t * kTileSide, low_left[i], out);
}
#else
HWY_INLINE void count_tiles (const PixelRows &rows, int x, int columns, std::uint8_t bin,
                             Counts &counts)
{
  const hn::CappedTag<std::uint8_t, kAtOnce> d;
  const hn::RepartitionToWide<decltype (d)> d16;
  const hn::RepartitionToWide<decltype (d16)> d32;
  const hn::RepartitionToWide<decltype (d32)> d64;
  const auto wanted = hn::Set (d, bin), one = hn::Set (d, 1), all = hn::Set (d, 255);
  const int lanes = int (hn::Lanes (d));
  for (int at = 0; at < kAtOnce; at += lanes) {
    const auto in_frame =
                   hn::IfThenElseZero (hn::FirstN (d, std::clamp (columns - at, 0, lanes)), all),
               inner = hn::And (in_frame, hn::ShiftLeftBytes<1> (d, all));
    const auto pixels = [&] (int i) HWY_ATTR {
      const auto bins = hn::LoadU (d, rows.pixels + i * rows.stride + x + at);
      return hn::IfThenElseZero (hn::Eq (bins, wanted), one);
    };
    alignas (64) std::uint8_t sides[kTileSide][kAtOnce];  // for Counts::sides
    hn::Store (hn::Zero (d), d, sides[0]);
    hn::Store (hn::And (pixels (0), in_frame), d, counts.top + at);
    auto column = hn::Zero (d);
    for (int i = 1; i < kTileSide; i++) {
      if (i < rows.n)
        column = hn::Add (column, pixels (i));
      auto sum = hn::And (column, inner);
      sum = hn::Add (sum, hn::ShiftLeftBytes<1> (d, sum));
      sum = hn::Add (sum, hn::ShiftLeftBytes<2> (d, sum));
      sum = hn::Add (sum, hn::ShiftLeftBytes<4> (d, sum));
      sum = hn::Add (sum, hn::ShiftLeftBytes<8> (d, sum));
      hn::Store (sum, d, counts.inside[i] + at);
      hn::Store (hn::CombineShiftRightBytes<15> (d, column, sum), d, sides[i]);
    }
    hn::Store (hn::And (column, in_frame), d, counts.below + at);
    const auto of_row = [&] (int i) HWY_ATTR { return hn::BitCast (d16, hn::Load (d, sides[i])); };
    const auto of_two = [&] (int i) HWY_ATTR {
      return hn::BitCast (d32, hn::InterleaveLower (d16, of_row (i), of_row (i + 1)));
    };
    const auto of_four = [&] (int i) HWY_ATTR {
      return hn::BitCast (d64, hn::InterleaveLower (d32, of_two (i), of_two (i + 2)));
    };
    for (int half = 0; half < 2; half++)
      hn::Store (
          hn::BitCast (d16, hn::InterleaveLower (d64, of_four (half * 8), of_four (half * 8 + 4))),
          d16, counts.sides[half][at / kTileSide]);
  }
}

template <class T>
using Line = hn::FixedTag<T, kTileSide / sizeof (T)>;  // a vector of 16 bytes, as a tile's line

/// Computes top[j] of a tile (tiles.hpp), and adds the tile's rows to `columns`, the bin's count in
/// each column so far. Returns the count of column 0 down to the tile's row 0.
template <class T>
HWY_INLINE T scan_top (const Counts &counts, int t, T *columns, T *top)
{
  const Line<T> d;
  const hn::Rebind<std::uint8_t, Line<T>> d_bytes;
  constexpr int kLanes = kTileSide / sizeof (T);
  const std::uint8_t *const row_0 = counts.top + t * kTileSide;
  const std::uint8_t *const below = counts.below + t * kTileSide;
  T first = 0;
  auto before = hn::Zero (d);
  for (int j = 0; j < kTileSide; j += kLanes) {
    auto sum =
        hn::Add (hn::Load (d, columns + j), hn::PromoteTo (d, hn::Load (d_bytes, row_0 + j)));
    hn::Store (hn::Add (sum, hn::PromoteTo (d, hn::Load (d_bytes, below + j))), d, columns + j);
    if (j == 0) {
      first = hn::GetLane (sum);
      before = hn::Sub (before, hn::Broadcast<0> (sum));
    }
    sum = hn::Add (sum, hn::ShiftLeftLanes<1> (d, sum));
    sum = hn::Add (sum, hn::ShiftLeftLanes<2> (d, sum));
    if constexpr (kLanes > 4)
      sum = hn::Add (sum, hn::ShiftLeftLanes<4> (d, sum));
    sum = hn::Add (sum, before);
    before = hn::Broadcast<kLanes - 1> (sum);
    hn::Store (sum, d, top + j);
  }
  return first;
}

/// Computes left[i] of a tile (tiles.hpp), and adds the tile's counts to before[i], the bin's count
/// in rows 1..i of all tiles so far.
template <class T>
HWY_INLINE void add_left (const Counts &counts, int t, T *before, T *left)
{
  const Line<T> d;
  const hn::Rebind<std::uint16_t, Line<T>> d_sides;
  for (int i = 0; i < kTileSide; i += kTileSide / int (sizeof (T))) {
    const auto sides = hn::Load (d_sides, counts.sides[i / 8][t] + i % 8);
    const auto widened = [&] (auto words) HWY_ATTR {
      if constexpr (sizeof (T) == sizeof (std::uint16_t))
        return words;
      else
        return hn::PromoteTo (d, words);
    };
    const auto sum = hn::Add (hn::Load (d, before + i), widened (hn::ShiftRight<8> (sides)));
    hn::Store (sum, d, left + i);
    hn::Store (hn::Add (sum, widened (hn::And (sides, hn::Set (d_sides, 0xff)))), d, before + i);
  }
}

template <class Number, class Half>
HWY_INLINE void split (const Number *numbers, Half *low, Half *high)
{
  const Line<Half> d;
  constexpr int kLanes = kTileSide / sizeof (Half);
  const auto *const halves = reinterpret_cast<const Half *> (numbers);
  for (int i = 0; i < kTileSide; i += kLanes) {
    const auto first = hn::Load (d, halves + 2 * i), second = hn::Load (d, halves + 2 * i + kLanes);
    hn::Store (hn::ConcatEven (d, second, first), d, low + i);
    hn::Store (hn::ConcatOdd (d, second, first), d, high + i);
  }
}

/// Writes a line of a tile (16 bytes) past the caches, with `first` as the line's first number.
template <class T>
HWY_INLINE void write_line (const T *line, T first, std::uint8_t *out)
{
  const Line<T> d;
  hn::Stream (hn::InsertLane (hn::Load (d, line), 0, first), d, reinterpret_cast<T *> (out));
}

/// Writes the lines of a tile that have inside[1..15]; the first byte of each is the low byte of
/// left[i]. On one thread of an EPYC (Zen 4) 1920x1080x32 took 6.8 ms, and 7.4 ms if write_line ()
/// inserts the first bytes.
HWY_INLINE void write_rows (const Counts &counts, int t, const std::uint8_t *low_left,
                            std::uint8_t *out)
{
  const Line<std::uint8_t> d;
  const auto is_first = hn::FirstN (d, 1);
  auto left = hn::Load (d, low_left);
  for (int i = 1; i < kTileSide; i++, out += kTileSide) {
    left = hn::ShiftRightBytes<1> (d, left);
    const auto inside = hn::Load (d, counts.inside[i] + t * kTileSide);
    hn::Stream (hn::IfThenElse (is_first, left, inside), d, out);
  }
}
#endif

/// A bin's counts of pixels in all tiles left of the current tile: `h` in row 0 of the tile and all
/// rows above, and rows[i] in rows 1..i of the tile.
template <class T>
struct Left {
  std::uint32_t h = 0;
  alignas (64) T rows[kTileSide] = {};
};

/// Computes and writes a tile. `columns` has the counts of the tile's columns in all rows above the
/// tile, to which the tile's own rows are added.
template <class T>
HWY_INLINE void write_tile (const Counts &counts, int t, T *columns, Left<T> &before,
                            std::uint8_t *out)
{
  constexpr bool kWide = sizeof (T) == 4;
  alignas (64) T top[kTileSide], left[kTileSide];
  const std::uint32_t corner = before.h + scan_top (counts, t, columns, top);
  before.h = corner + top[kTileSide - 1];
  add_left (counts, t, before.rows, left);

  // bits of top[j] and left[i] (tiles.hpp) as the lines of a tile hold them, from bits 0 and 8 on
  const std::uint16_t *top_0;
  alignas (64) std::uint8_t left_0[kTileSide], left_8[kTileSide];
  // wide tiles also hold the bits of top[j] and left[i] from bit 16 on
  [[maybe_unused]] alignas (64) std::uint8_t top_16[kTileSide], left_16[kTileSide];
  [[maybe_unused]] alignas (64) std::uint16_t words[4][kTileSide];
  if constexpr (kWide) {
    alignas (64) std::uint8_t nothing[kTileSide];
    split (top, words[0], words[1]);
    split (left, words[2], words[3]);
    split (words[1], top_16, nothing);
    split (words[2], left_0, left_8);
    split (words[3], left_16, nothing);
    top_0 = words[0];
  } else {
    split (left, left_0, left_8);
    top_0 = top;
  }

  const auto line = [&out] (const auto *numbers, auto first) HWY_ATTR {
    write_line (numbers, first, out);
    out += kTileSide;
  };
  line (top_0, std::uint16_t (corner));
  line (top_0 + kTileSide / 2, top_0[kTileSide / 2]);
  line (left_8, std::uint8_t (corner >> 16));
  if constexpr (kWide) {
    line (top_16, std::uint8_t (corner >> 24));
    line (left_16, std::uint8_t (0));
  }
  write_rows (counts, t, left_0, out);
}

/// Writes the tiles of pixel rows first..last - 1 of a bin, given the counts of the columns above.
/// T is wide enough for all numbers of a tile but the corner, which has 32 bits. Returns false if
/// the job was cancelled.
template <class T>
bool scan_tiles (const Job &job, int bin, int first, int last, T *columns)
{
  const Tiles tiles = tiles_of (job.shape);
  const int width = job.shape.width;
  std::fill (columns + width, columns + round_up (width, kAtOnce), T (0));
  for (int y = first; y < last; y += kTileSide) {
    std::uint8_t *out = static_cast<std::uint8_t *> (job.tensor) + bin * job.layout.plane_pitch
                        + y / kTileSide * job.layout.row_pitch;
    const PixelRows rows = { job.pixels.data + y * job.pixels.stride, job.pixels.stride,
                             std::min (kTileSide, last - y) };
    Left<T> left;
    for (int x = 0; x < width; x += kAtOnce) {
      if (is_set (job.cancelled)) {
        hwy::FlushStream ();
        return false;
      }
      Counts counts;
      count_tiles (rows, x, width - x, std::uint8_t (bin), counts);
      for (int t = 0; t < kTilesAtOnce && x + t * kTileSide < width; t++, out += tiles.bytes ())
        write_tile (counts, t, columns + x + t * kTileSide, left, out);
    }
  }
  hwy::FlushStream ();
  return true;
}

bool scan_narrow (const Job &job, int bin, int first, int last, void *columns)
{
  return scan_tiles (job, bin, first, last, static_cast<std::uint16_t *> (columns));
}

bool scan_wide (const Job &job, int bin, int first, int last, void *columns)
{
  return scan_tiles (job, bin, first, last, static_cast<std::uint32_t *> (columns));
}

bool count_narrow (const Job &job, int bin, int first, int last, void *counts)
{
  return count_columns (job, bin, first, last, static_cast<std::uint16_t *> (counts));
}

bool count_wide (const Job &job, int bin, int first, int last, void *counts)
{
  return count_columns (job, bin, first, last, static_cast<std::uint32_t *> (counts));
}

}  // namespace inthist::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE ();

#if HWY_ONCE

namespace inthist {
namespace cpu {
namespace {

HWY_EXPORT (count_narrow);
HWY_EXPORT (count_wide);
HWY_EXPORT (scan_narrow);
HWY_EXPORT (scan_wide);

/// Calls the function `body` with a 0 of the counter type, u16 or u32, which holds the count of a
/// column and all numbers of a tile except the corner.
template <class Body>
auto with_counter (const Shape &shape, Body &&body)
{
  return tiles_of (shape).wide ? body (std::uint32_t ()) : body (std::uint16_t ());
}

std::size_t workspace_bytes (const Shape &shape, const Tuning &)
{
  return with_counter (shape,
                       [&]<class T> (T) { return Strips<T, kTileSide>::workspace_bytes (shape); });
}

int run (const Job &job)
{
  return with_counter (job.shape, [&]<class T> (T) {
    constexpr bool kWide = sizeof (T) == 4;
    auto *const count =
        kWide ? HWY_DYNAMIC_DISPATCH (count_wide) : HWY_DYNAMIC_DISPATCH (count_narrow);
    auto *const scan =
        kWide ? HWY_DYNAMIC_DISPATCH (scan_wide) : HWY_DYNAMIC_DISPATCH (scan_narrow);
    return Strips<T, kTileSide> (job).count_and_scan (count, scan);
  });
}

}  // namespace
}  // namespace cpu

extern constinit const Strategy kByteRows = {
  .name = "byte-rows",
  .description = "CPU: tiles of bytes scanned in SIMD registers, written once past the caches",
  .device = Device::cpu,
  .workspace_bytes = cpu::workspace_bytes,
  .run = cpu::run,
  .makes_tiles = true,
  .limit = "u8-tiled counters"
};

}  // namespace inthist

#endif
