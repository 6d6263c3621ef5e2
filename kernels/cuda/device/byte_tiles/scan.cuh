// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The scan kernel of byte-tiles. A block computes a strip of one bin. Its lanes are side by side
// over the whole row, one for each tile, and go down the strip. A lane keeps the corner, top and
// inside of its tile (tiles.hpp) in registers. A step is a row of tiles. It reads the 16 rows of
// pixels below the first row of the tiles; the last of these rows is the first row of the next
// tiles:
//
//   find         finds the bin's pixels, four bytes at a time; counts them by tile and by row
//   groups_left  adds up each row's count over the groups of lanes to the left
//   store        computes `left` from these counts, and writes the tile to memory
//   descend      turns the corner and top of the tile into those of the tile below
#pragma once

#include "../../../tiles.hpp"
#include "../../byte_tiles_policy.hpp"
#include "../hardware/bulk_store.cuh"
#include "../hardware/bytes.cuh"
#include "../hardware/overlap.cuh"
#include "../hardware/stay_in_l2.cuh"
#include "../hardware/warp.cuh"
#include "../strip/row_counts.cuh"
#include "../strip/strips.cuh"

namespace inthist::cuda {

constexpr int kTileWords = kTileSide / 4;  // of a line

/// Computes a strip of tiles of one bin. kWide: the tiles are wide (tiles.hpp). kStaged: tiles are
/// written by way of shared memory. kMaxThreads: the most threads of a block.
template <bool kWide, bool kStaged, int kMaxThreads>
class TileScan {
  // How many lanes together compute prefix sums of the pixels of each row, as bytes, four rows to a
  // word. The largest sum, of 15 tiles that are 16 pixels wide, is 240, which fits in a byte.
  static constexpr int kGroup = 16;

public:
  static constexpr int kBytes = Tiles::bytes (kWide);

  struct Shared {
    // [buffer][group][place_of_row (row)]
    alignas (8) std::uint16_t row_counts[2][kMaxThreads / kGroup][kTileSide];
    std::uint32_t above_counts[kMaxThreads / kWarp];
  };

  /// `staged` is shared memory with room for a tile of each thread. It is used only with kStaged.
  __device__ TileScan (const BinSource &image, const Strips &strips, const Layout &layout,
                       std::uint8_t *tensor, Shared &shared, std::uint8_t *staged)
      : image_ (image), strips_ (strips), shared_ (shared), lane_ (threadIdx.x % kWarp),
        warp_ (threadIdx.x / kWarp), strip_ (blockIdx.x / strips.bins),
        // neighbouring blocks compute all bins of a strip, so they find the strip's pixels in L2
        bin_ (blockIdx.x % strips.bins), y_end_ (min (strips.height, (strip_ + 1) * strips.rows)),
        tiles_ (min (kWarp, divide_up (strips.width, kTileSide) - warp_ * kWarp)),
        pitch_ (layout.row_pitch), pattern_ (image.shift, bin_ + image.first),
        pixels_ (image.data + min (int (threadIdx.x) * kTileSide, image.columns - kTileSide)),
        out_ (tensor + bin_ * layout.plane_pitch + std::size_t (warp_) * kWarp * kBytes),
        warp_staged_ (staged + warp_ * kWarp * kBytes)
  {
    const int columns = strips.width - int (threadIdx.x) * kTileSide;
#pragma unroll
    for (int w = 0; w < kTileWords; w++)  // bit 7 of each byte: is the column in the frame?
      columns_[w] = columns >= 4 * w + 4 ? 0x80808080u
                    : columns <= 4 * w   ? 0
                                         : 0x80808080u >> (32 - 8 * (columns - 4 * w));
  }

  __device__ void run ()
  {
    const int first = strip_ * strips_.rows;
    if (!image_.ready || strip_ > 0)  // the first strip may not need the count kernel's results
      wait_for_previous ();
    start (first);
#pragma unroll
    for (int r = 0; r < kAhead; r++)
      ahead_[r] = row_at (min (first + 1 + r, strips_.height - 1));
    int parity = 0;
    for (int y = first; y < y_end_; y += kTileSide, parity ^= 1) {
      if (y + kTileSide + kAhead < strips_.height)
        find<true> (y + 1, parity);
      else
        find<false> (y + 1, parity);
      __syncthreads ();
      if (y + kTileSide >= y_end_)
        let_next_start ();
      store (y, groups_left (parity));
    }
    if (kStaged)
      finish_bulk_stores ();
  }

private:
  static constexpr int kAhead = kRowsAhead;
  static constexpr int kQuads = kTileSide / 4;           // of rows
  static constexpr std::uint32_t kPrefix = 0x01010101u;  // four bytes times kPrefix are prefix sums

  __device__ uint4 row_at (int y) const
  {
    return load_that_stays (reinterpret_cast<const uint4 *> (
        pixels_ + std::size_t (unsigned (image_.stride)) * unsigned (y)));
  }

  /// Counts the bin's pixels in 16 rows from row y on: in inside_ for the lane's tile, in below_
  /// for the tile below, and in shared memory for each row of the group of lanes.
  template <bool kAllRows>
  __device__ void find (int y, int buffer)
  {
    std::uint32_t sums[kTileWords] = {}, counts[kQuads] = {};
#pragma unroll
    for (int q = 0; q < kQuads; q++)
      first_column_[q] = 0;
#pragma unroll
    for (int r = 0; r < kTileSide; r++) {
      const uint4 row = ahead_[r % kAhead];
      const std::uint32_t words[kTileWords] = { row.x, row.y, row.z, row.w };
      const int next = y + r + kAhead;
      ahead_[r % kAhead] = row_at (kAllRows ? next : min (next, strips_.height - 1));
      std::uint32_t scanned = 0;
#pragma unroll
      for (int w = 0; w < kTileWords; w++) {
        std::uint32_t own = pattern_.ones (words[w], columns_[w]);
        if (!kAllRows && y + r >= strips_.height)
          own = 0;
        if (w == 0) {
          first_column_[r / 4] = __byte_perm (first_column_[r / 4], own, byte_into (r % 4, 4));
          scanned = (own & 0xffffff00u) * kPrefix;
        } else {
          scanned = own * kPrefix + __byte_perm (scanned, 0, 0x3333);
        }
        sums[w] += scanned;
        if (r < kTileSide - 1)
          inside_[r][w] = sums[w];
      }
      counts[r / 4] = __byte_perm (counts[r / 4], scanned, byte_into (r % 4, 7));
    }
#pragma unroll
    for (int w = 0; w < kTileWords; w++)
      below_[w] = sums[w];
    std::uint16_t *const to = shared_.row_counts[buffer][threadIdx.x / kGroup];
#pragma unroll
    for (int q = 0; q < kQuads; q++) {
      const std::uint32_t own = counts[q] + first_column_[q],
                          before = warp_scan<kGroup> (own) - own;
      if (lane_ % kGroup == kGroup - 1)
        store_row_counts (to + 4 * q, before, own);
      before_inside_[q] = before + first_column_[q];
    }
  }

  /// Returns the selector of __byte_perm that replaces byte `to` of the first of two words by byte
  /// `from` of both words, 0 to 7.
  __device__ static constexpr unsigned byte_into (int to, int from)
  {
    return (0x3210u & ~(0xfu << (4 * to))) | unsigned (from) << (4 * to);
  }

  /// Returns how many of the bin's pixels lie left of the lane's group, in row lane % 16 of the 16
  /// rows of pixels in a step.
  __device__ std::uint32_t groups_left (int buffer)
  {
    constexpr int kParts = kWarp / kGroup;
    const int place = place_of_row (lane_ % kGroup), part = lane_ / kGroup;
    const auto &counts = shared_.row_counts[buffer];
    const int own = warp_ * kParts;
    std::uint32_t left = 0;
    for (int group = part; group < own; group += kParts)
      left += counts[group][place];
    left += __shfl_xor_sync (~0u, left, kGroup);
    return part == 0 ? left : left + counts[own][place];
  }

  /// Computes the corner and the top of the lane's first tile, from the counts of all rows above.
  __device__ void start (int y)
  {
    std::uint32_t columns[kTileSide] = {};
    if (int (threadIdx.x) * kTileSide < strips_.width)
      add_columns (columns);
    const uint4 row = row_at (y);
    const std::uint32_t words[kTileWords] = { row.x, row.y, row.z, row.w };
#pragma unroll
    for (int w = 0; w < kTileWords; w++) {
      const std::uint32_t own = pattern_.ones (words[w], columns_[w]);
#pragma unroll
      for (int j = 0; j < 4; j++) {
        std::uint32_t &column = columns[4 * w + j];
        // counts of columns outside the frame are undefined, so they become 0
        column = columns_[w] >> (8 * j) & 0x80 ? column + (own >> (8 * j) & 1) : 0;
      }
    }
    const std::uint32_t first_column = columns[0];
    columns[0] = 0;
#pragma unroll
    for (int j = 1; j < kTileSide; j++)
      columns[j] += columns[j - 1];
    const std::uint32_t all = first_column + columns[kTileSide - 1], upto = warp_scan (all);
    if (lane_ == kWarp - 1)
      shared_.above_counts[warp_] = upto;
    __syncthreads ();
    corner_ =
        warp_sum (lane_ < warp_ ? shared_.above_counts[lane_] : 0) + upto - all + first_column;
#pragma unroll
    for (int j = 0; j < kTops; j++)
      top_[j] = kWide ? columns[j] : columns[2 * j] | columns[2 * j + 1] << 16;
  }

  /// Adds the bin's pixels in all rows above the strip to `columns`, a number for each column. The
  /// count kernel has stored one count for each set of row blocks that it joined.
  __device__ void add_columns (std::uint32_t (&columns)[kTileSide]) const
  {
    const std::uint16_t *const counts = static_cast<const std::uint16_t *> (strips_.sums)
                                        + strips_.row_of (0, bin_) + threadIdx.x * kTileSide;
    const std::size_t counts_per_row_block = strips_.bins * strips_.pitch;
    const int above = strip_ * strips_.row_blocks_per_strip, joined = strips_.joined_row_blocks;
#pragma unroll 4
    for (int row_block = 0; row_block < above; row_block += joined) {
      const auto *const at = reinterpret_cast<const uint4 *> (
          counts + (min (row_block + joined, above) - 1) * counts_per_row_block);
      const uint4 got[2] = { load_that_stays (at), load_that_stays (at + 1) };
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const std::uint32_t pairs[] = { got[half].x, got[half].y, got[half].z, got[half].w };
#pragma unroll
        for (int p = 0; p < 4; p++) {
          columns[8 * half + 2 * p] += pairs[p] & 0xffff;
          columns[8 * half + 2 * p + 1] += pairs[p] >> 16;
        }
      }
    }
  }

  /// Computes `left` of the lane's tile and writes the tile. `groups_left` is the number of the
  /// bin's pixels left of the lane's group, in row lane % 16 below the tile's first row.
  __device__ void store (int y, std::uint32_t groups_left)
  {
    std::uint32_t left[kTileSide + 1];
    left[0] = 0;
#pragma unroll
    for (int r = 0; r < kTileSide; r++)
      left[r + 1] = __dp4a (before_inside_[r / 4], 1u << (8 * (r % 4)),
                            left[r] + __shfl_sync (~0u, groups_left, r, kGroup));
    std::uint8_t *const to = out_ + std::size_t (y / kTileSide) * pitch_;
    if constexpr (kStaged) {
      wait_for_bulk_store ();
      store_lines (reinterpret_cast<uint4 *> (warp_staged_ + lane_ * kBytes), left);
      bulk_store (to, warp_staged_, tiles_ * kBytes);
    } else if (lane_ < tiles_) {
      store_lines (reinterpret_cast<uint4 *> (to + lane_ * kBytes), left);
    }
    descend (left[kTileSide]);
  }

  __device__ void store_lines (uint4 *lines, const std::uint32_t (&left)[kTileSide + 1]) const
  {
    store_header (lines, left);
#pragma unroll
    for (int i = 1; i < kTileSide; i++)
      lines[Tiles::line_of (kWide, i)] =
          make_uint4 (__byte_perm (inside_[i - 1][0], left[i], 0x3214), inside_[i - 1][1],
                      inside_[i - 1][2], inside_[i - 1][3]);
  }

  __device__ void store_header (uint4 *lines, const std::uint32_t (&left)[kTileSide + 1]) const
  {
    if constexpr (kWide) {
      std::uint32_t low[8];
#pragma unroll
      for (int p = 0; p < 8; p++)
        low[p] = __byte_perm (p == 0 ? corner_ : top_[2 * p], top_[2 * p + 1], 0x5410);
      lines[0] = make_uint4 (low[0], low[1], low[2], low[3]);
      lines[1] = make_uint4 (low[4], low[5], low[6], low[7]);
      lines[3] = pack_line<2> (corner_ >> 8, top_);
      lines[4] = pack_line<2> (0, left);
    } else {
      lines[0] = make_uint4 (__byte_perm (corner_, top_[0], 0x7610), top_[1], top_[2], top_[3]);
      lines[1] = make_uint4 (top_[4], top_[5], top_[6], top_[7]);
    }
    lines[2] = pack_line<1> (corner_ >> 8, left);
  }

  /// Packs byte kByte of 16 words into a line of a tile (tiles.hpp): byte 0 comes from `first`,
  /// which is a part of the corner or 0, and bytes 1 to 15 from words[1] to words[15].
  template <int kByte, int kCount>
  __device__ static uint4 pack_line (std::uint32_t first, const std::uint32_t (&words)[kCount])
  {
    static_assert (kCount >= kTileSide);
    const auto pack = [&] (int i) {
      constexpr unsigned kPick = kByte | (4 + kByte) << 4;
      return __byte_perm (__byte_perm (i == 0 ? first : words[i], words[i + 1], kPick),
                          __byte_perm (words[i + 2], words[i + 3], kPick), 0x5410);
    };
    return make_uint4 (pack (0), pack (4), pack (8), pack (12));
  }

  __device__ void descend (std::uint32_t left)
  {
    corner_ += left;
#pragma unroll
    for (int j = 0; j < kTops; j++)
      top_[j] += kWide ? byte_of (below_[j / 4], j % 4)
                       : __byte_perm (below_[j / 2], 0, j % 2 ? 0x4342 : 0x4140);
  }

  static constexpr int kTops = kWide ? kTileSide : kTileSide / 2;  // words: narrow ones have two

  const BinSource &image_;
  const Strips &strips_;
  Shared &shared_;
  const int lane_, warp_, strip_, bin_, y_end_;
  const int tiles_;  // tiles of the warp
  const std::size_t pitch_;
  const BinPattern pattern_;
  const std::uint8_t *const pixels_;
  std::uint8_t *const out_, *const warp_staged_;
  std::uint32_t columns_[kTileWords];
  uint4 ahead_[kAhead];
  std::uint32_t corner_, top_[kTops];
  std::uint32_t inside_[kTileSide - 1][kTileWords], below_[kTileWords];
  // The bin's pixels in each row, four rows to a word: those in the tile's first column, and those
  // from the group's first tile up to and with the first column of this tile.
  std::uint32_t first_column_[kQuads], before_inside_[kQuads];
};

template <bool kWide, bool kStaged, int kMaxThreads>
__global__ void __launch_bounds__ (kMaxThreads, kMaxTileThreads / kMaxThreads)
scan_tiles_kernel (BinSource image, Strips strips, Layout layout, std::uint8_t *tensor)
{
  using Block = TileScan<kWide, kStaged, kMaxThreads>;
  extern __shared__ uint4 staged[];
  __shared__ typename Block::Shared shared;
  Block (image, strips, layout, tensor, shared, reinterpret_cast<std::uint8_t *> (staged)).run ();
}

}  // namespace inthist::cuda
