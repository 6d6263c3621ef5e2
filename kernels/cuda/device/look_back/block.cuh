// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A block of the algorithm look-back (look_back.cu). It computes one tile of a summed-area table,
// from the tile's pixels to its elements.
#pragma once

#include <cstring>
#include <type_traits>

#include "../hardware/copy_async.cuh"
#include "../hardware/warp.cuh"
#include "byte_sums.cuh"
#include "order.cuh"
#include "states.cuh"
#include "tile.cuh"

namespace inthist::cuda {

/// The class that adds up a tile's pixels (SumsOverTile in tile.cuh), by the types of the table.
template <class T, class Source, class Tile>
struct SumsOf {
  using Type = ByteSums<T, Tile>;
};

template <class T, class Source, class Tile>
class LookBackBlock {
public:
  using States = TileStates<T, Tile>;

private:
  static constexpr int kColumns = Tile::kColumns, kChunks = Tile::kChunks, kRows = Tile::kRows,
                       kWarps = Tile::kWarps, kWidth = Tile::kWidth, kHeight = Tile::kHeight;

  // The numbers of warps that add up the sums of the tiles above and to the left; one more warp
  // does so for the tiles both above and to the left. The last warp publishes the tile's column
  // sums and raises its flag.
  static constexpr int kVector = kWarp * kColumns, kAboveWarps = divide_up (kWidth, kVector),
                       kLeftWarps = divide_up (kHeight, kVector),
                       kCornerWarp = kAboveWarps + kLeftWarps, kLastWarp = kWarps - 1;
  static_assert (kCornerWarp < kLastWarp);

  using Sums = typename SumsOf<T, Source, Tile>::Type;
  static_assert (SumsOverTile<Sums, T, Tile>);
  using Pixel = typename Sums::Pixel;
  static_assert (std::is_same_v<Pixel, typename Source::Pixel>);
  using Pixels = typename Sums::Pixels;
  using Sum = typename Sums::Sum;  // type of a sum over pixels of the tile
  using Elements = Vector<T, kColumns>;

public:
  struct Shared {
    typename Sums::Shared tile;
    Vector<Sum, kColumns> columns[kLastWarp][kChunks][kWarp];  // column sums of warps 0 to this one
    alignas (16) T above[kWidth];  // sums of columns 0..x over all tiles above
    alignas (16) T left[kHeight];  // sums of rows 0..y over all tiles to the left
    T corner;                      // sum of all tiles that are both to the left and above
    Ticket ticket;
  };
  // kBlocks blocks must fit in the 228 KiB of shared memory of an H100, and each takes 1 KiB extra
  static_assert (Tile::kBlocks * (round_up (sizeof (Shared), 128) + 1024) <= 228 * 1024);

  /// Draws a ticket: the number of the tile that this block computes. So tiles start in the order
  /// of the tickets, in whatever order the GPU schedules blocks.
  __device__ LookBackBlock (Shared &shared, const Planes<T> &planes, const PixelPlane &pixels,
                            const States &states)
      : shared_ (shared), planes_ (planes), pixels_ (pixels), states_ (states)
  {
    if (threadIdx.x == 0)
      shared_.ticket = states_.tickets->draw (gridDim.x);
    __syncthreads ();
    epoch_ = shared_.ticket.epoch;
    plane_ = shared_.ticket.n % states_.planes;
    const int2 place =
        on_diagonals (shared_.ticket.n / states_.planes, states_.rows, states_.columns);
    row_ = place.x;
    column_ = place.y;
    line_ = plane_ * states_.rows + row_;
    tile_ = line_ * states_.columns + column_;
  }

  /// Loads the tile's pixels to shared memory. Pixels outside of the image are 0.
  __device__ void load (bool vectors)
  {
    Sums sums (shared_.tile, plane_);
#pragma unroll 8
    for (int r = 0; r < kRows; r++)
#pragma unroll
      for (int s = 0; s < kChunks; s++) {
        const int x = first_x (s), y = first_y () + r;
        const Pixel *const from =
            reinterpret_cast<const Pixel *> (pixels_.data + std::size_t (y) * pixels_.stride) + x;
        Pixels &to = sums.pixels (r, s);
        if (vectors && y < planes_.height && x + kColumns <= planes_.width)
          start_copy<sizeof (Pixels)> (&to, from);
        else
#pragma unroll
          for (int c = 0; c < kColumns; c++)
            to.values[c] = y < planes_.height && x + c < planes_.width ? from[c] : Pixel (0);
      }
    await_copies ();
  }

  __device__ void sum ()
  {
    Sums (shared_.tile, plane_).sum (columns_);
    if (warp_ < kLastWarp)
#pragma unroll
      for (int s = 0; s < kChunks; s++)
        memcpy (&shared_.columns[warp_][s][lane_], columns_[s], sizeof columns_[s]);
    __syncthreads ();
  }

  /// Adds up the sums of the block's warps, and publishes the sums of the tile to other blocks.
  __device__ void publish ()
  {
    const Sums sums (shared_.tile, plane_);
    if (warp_ == kLastWarp)
      publish_columns (sums);
    if (threadIdx.x < kHeight)
      states_.row_sums[std::size_t (tile_) * kHeight + threadIdx.x] = sums.row_sum (threadIdx.x);
    __syncthreads ();
    if (threadIdx.x == kWarps * kWarp - 1)
      raise (states_.flags[tile_].has_sums, epoch_);
  }

  /// Adds up what the tiles above, to the left, and both above and to the left have published since
  /// the last checkpoint, a tile that published the sums of all tiles before it.
  __device__ void gather_prefixes ()
  {
    if (warp_ < kAboveWarps)
      sum_above ();
    else if (warp_ < kCornerWarp)
      sum_left ();
    else if (warp_ == kCornerWarp)
      sum_corner ();
    __syncthreads ();
    if (threadIdx.x == 0 && is_checkpoint (row_))
      raise (states_.flags[tile_].has_above, epoch_);
    if (threadIdx.x == kWarp && is_checkpoint (column_))
      raise (states_.flags[tile_].has_left, epoch_);
  }

  __device__ void store ()
  {
    T above[kChunks][kColumns];
#pragma unroll
    for (int s = 0; s < kChunks; s++)
#pragma unroll
      for (int c = 0; c < kColumns; c++) {
        above[s][c] = T (shared_.corner + shared_.above[Tile::first_column (s) + c]);
        if (warp_ > 0)
          above[s][c] = T (above[s][c] + T (shared_.columns[warp_ - 1][s][lane_].values[c]));
      }
    Sums (shared_.tile, plane_)
        .store (above, shared_.left, [this] (const Elements &elements, int row, int chunk) {
          store_vector (elements, first_x (chunk), first_y () + row);
        });
  }

private:
  /// Replaces each warp's column sums by the sums over all warps from the first to this one, and
  /// publishes the tile's sums over columns 0 to x.
  __device__ void publish_columns (const Sums &sums)
  {
#pragma unroll
    for (int s = 0; s < kChunks; s++) {
      Vector<Sum, kColumns> all = {};
#pragma unroll
      for (int w = 0; w < kLastWarp; w++) {
        Vector<Sum, kColumns> &own = shared_.columns[w][s][lane_];
#pragma unroll
        for (int c = 0; c < kColumns; c++)
          all.values[c] = Sum (all.values[c] + own.values[c]);
        own = all;
      }
      const T left = sums.segments_left (s);
      Elements elements;
#pragma unroll
      for (int c = 0; c < kColumns; c++)
        elements.values[c] = T (left + T (Sum (all.values[c] + columns_[s][c])));
      *reinterpret_cast<Elements *> (states_.column_sums + std::size_t (tile_) * kWidth
                                     + Tile::first_column (s)) = elements;
    }
  }

  /// The sums published by the n tiles before this tile, in the same column or row and since the
  /// last checkpoint. A checkpoint is a tile that also publishes the sums of all tiles before it.
  struct Before {
    int first, step;  // tiles
    int n;
    const T *sums;          // sums of the first tile since the checkpoint
    std::size_t sums_step;  // elements
    const T *checkpoint;    // published sums of all tiles before the first tile, or null
    T *own_checkpoint;  // where this tile, if a checkpoint, publishes the sums before it, or null
  };

  __device__ void sum_above ()
  {
    const int base = checkpoint_before (row_), first = tile_ - (row_ - base) * states_.columns;
    const std::size_t step = std::size_t (states_.columns) * kWidth,
                      line = plane_ * States::checkpoints (states_.rows) + base / kCheckpoint<T>;
    T *const checkpoint = states_.above + line * step + column_ * kWidth;
    const T last = add_up ({ .first = first,
                             .step = states_.columns,
                             .n = row_ - base,
                             .sums = states_.column_sums + std::size_t (first) * kWidth,
                             .sums_step = step,
                             .checkpoint = base > 0 ? checkpoint : nullptr,
                             .own_checkpoint = is_checkpoint (row_) ? checkpoint + step : nullptr },
                           &TileFlags<T>::has_above, warp_, shared_.above);
    if (threadIdx.x == kAboveWarps * kWarp - 1)
      states_.flags[tile_].corner_sum.publish (last, epoch_);
  }

  __device__ void sum_left ()
  {
    const int base = checkpoint_before (column_), n = column_ - base;
    T *const checkpoint = states_.left + left_checkpoint () * kHeight;
    add_up ({ .first = tile_ - n,
              .step = 1,
              .n = n,
              .sums = states_.row_sums + std::size_t (tile_ - n) * kHeight,
              .sums_step = kHeight,
              .checkpoint = base > 0 ? checkpoint : nullptr,
              .own_checkpoint = is_checkpoint (column_) ? checkpoint + kHeight : nullptr },
            &TileFlags<T>::has_left, warp_ - kAboveWarps, shared_.left);
  }

  /// Adds up what the tiles before this tile have published, always in the same order. A lane
  /// handles kColumns neighbouring sums and returns the last of these.
  template <int kSize>
  __device__ T add_up (const Before &before, Epoch TileFlags<T>::*checkpoint_flag, int warp,
                       T (&to)[kSize]) const
  {
    static_assert (kCheckpoint<T> < kWarp && kSize % kColumns == 0);
    constexpr int kInFlight = 8;  // loads
    if (lane_ < before.n)
      await (states_.flags[before.first + lane_ * before.step].has_sums, epoch_);
    if (lane_ == kCheckpoint<T> && before.checkpoint)
      await (states_.flags[before.first].*checkpoint_flag, epoch_);
    __syncwarp ();
    const int i = (warp * kWarp + lane_) * kColumns;
    if (i >= kSize)
      return T (0);
    Elements sum = {}, values[kInFlight];
    if (before.checkpoint)
      sum = load_published (before.checkpoint + i);
    const T *from = before.sums + i;
#pragma unroll 1
    for (int first = 0; first < before.n; first += kInFlight) {
#pragma unroll
      for (int k = 0; k < kInFlight; k++, from += before.sums_step)
        if (first + k < before.n)
          values[k] = load_published (from);
#pragma unroll
      for (int k = 0; k < kInFlight; k++)
        if (first + k < before.n)
#pragma unroll
          for (int c = 0; c < kColumns; c++)
            sum.values[c] = T (sum.values[c] + values[k].values[c]);
    }
    *reinterpret_cast<Elements *> (&to[i]) = sum;
    if (before.own_checkpoint)
      *reinterpret_cast<Elements *> (before.own_checkpoint + i) = sum;
    return sum.values[kColumns - 1];
  }

  __device__ void sum_corner ()
  {
    const int base = checkpoint_before (column_), n = column_ - base;
    const std::size_t checkpoint = left_checkpoint ();
    T own[] = { T (0) };
    if (lane_ < n)
      own[0] = states_.flags[tile_ - n + lane_].corner_sum.await (epoch_);
    if (lane_ == kCheckpoint<T> && base > 0)
      own[0] = states_.corner[checkpoint].await (epoch_);
    __syncwarp ();
    const T sum = warp_sums (own);
    if (lane_ == 0) {
      shared_.corner = sum;
      if (is_checkpoint (column_))
        states_.corner[checkpoint + 1].publish (sum, epoch_);
    }
  }

  /// Loads sums that another block has published, from L2, because L1 is not coherent.
  __device__ static Elements load_published (const T *from)
  {
    const uint4 words = __ldcg (reinterpret_cast<const uint4 *> (from));
    Elements vector;
    static_assert (sizeof vector == sizeof words);
    memcpy (&vector, &words, sizeof words);
    return vector;
  }

  /// Returns the index of the last checkpoint (look_back.cu) left of this tile, or the row's first.
  __device__ std::size_t left_checkpoint () const
  {
    return line_ * States::checkpoints (states_.columns)
           + checkpoint_before (column_) / kCheckpoint<T>;
  }

  __device__ static int checkpoint_before (int place)
  {
    return max (place - 1, 0) / kCheckpoint<T> * kCheckpoint<T>;
  }
  __device__ static bool is_checkpoint (int place)
  {
    return place > 0 && place % kCheckpoint<T> == 0;
  }

  __device__ int first_x (int chunk) const
  {
    return column_ * kWidth + Tile::first_column (chunk);
  }
  __device__ int first_y () const
  {
    return row_ * kHeight + Tile::first_row ();
  }

  /// Stores elements of the table with streaming stores, which push no other cache lines out of L2.
  /// Bytes after the end of the row do not change.
  __device__ void store_vector (const Elements &elements, int x, int y) const
  {
    T *const to = planes_.line (plane_, y) + x;
    if (y < planes_.height && x + kColumns <= planes_.width) {
      uint4 words;
      memcpy (&words, &elements, sizeof words);
      __stcs (reinterpret_cast<uint4 *> (to), words);
      return;
    }
#pragma unroll
    for (int c = 0; c < kColumns; c++)
      if (y < planes_.height && x + c < planes_.width)
        to[c] = elements.values[c];
  }

  Shared &shared_;
  const Planes<T> &planes_;
  const PixelPlane &pixels_;
  const States &states_;
  const int lane_ = Tile::lane (), warp_ = Tile::warp ();
  Epoch epoch_;
  int plane_, row_, column_;  // position of the tile
  int line_, tile_;           // indices of the tile's row, and of the tile, over all planes
  Sum columns_[kChunks][kColumns] = {};  // sums over this warp's rows
};

}  // namespace inthist::cuda
