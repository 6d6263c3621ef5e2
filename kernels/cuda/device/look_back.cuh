// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The block of look-back: one tile of a table, from its pixels to its elements (look_back.cu has
// the idea).
#pragma once

#include "copy_async.cuh"
#include "scan_planes.cuh"
#include "tile_order.cuh"
#include "tile_states.cuh"
#include "tile_sums.cuh"
#include "warp.cuh"

namespace inthist::cuda {

template <class T, class Source, class Tile>
class LookBack {
public:
  using States = TileStates<T, Tile>;

private:
  static constexpr int kColumns = Tile::kColumns, kChunks = Tile::kChunks, kRows = Tile::kRows,
                       kWarps = Tile::kWarps, kWidth = Tile::kWidth, kHeight = Tile::kHeight;
  static constexpr int kSummed = 8, kStored = (sizeof (T) <= 4 ? 4 : 2);  // rows at a time
  static_assert (kRows % kSummed == 0);

  // warps that look back above, to the left, and for the corner; the last raises the tile's flag
  static constexpr int kVector = kWarp * kColumns, kAboveWarps = divide_up (kWidth, kVector),
                       kLeftWarps = divide_up (kHeight, kVector),
                       kCornerWarp = kAboveWarps + kLeftWarps;
  static_assert (kCornerWarp < kWarps - 1);

  using Sums = PixelSums<T, Source, kColumns>;
  using Pixel = typename Sums::Pixel;
  using Pixels = Vector<Pixel, kColumns>;
  using Sum = typename Sums::Sum;  // over pixels of the tile
  using Elements = Vector<T, kColumns>;

public:
  struct Shared {
    Pixels pixels[kHeight][kChunks][kWarp];  // a thread uses what it has loaded itself
    Sum columns[kWarps][kWidth];             // 0..x, of the rows of the warps above
    alignas (16) T above[kWidth];            // 0..x, of all tiles above
    alignas (16) T left[kHeight];            // 0..y, of all tiles to the left
    Sum rows[kHeight];                       // 0..y, of the rows of one warp
    T corner;                                // of all tiles that are to the left and above
    Ticket ticket;
  };

  /// Draws a ticket: tiles start in the order of their tickets, however blocks are scheduled.
  __device__ LookBack (Shared &shared, const Planes<T> &table, const PixelPlane &pixels,
                       const States &states)
      : shared_ (shared), table_ (table), pixels_ (pixels), states_ (states)
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

  /// Loads the tile. Pixels outside of the image are 0.
  __device__ void load (bool vectors)
  {
#pragma unroll 8
    for (int r = 0; r < kRows; r++)
#pragma unroll
      for (int s = 0; s < kChunks; s++) {
        const int x = first_x (s), y = first_y () + r;
        const Pixel *const from =
            reinterpret_cast<const Pixel *> (pixels_.data + std::size_t (y) * pixels_.stride) + x;
        Pixels &to = own_pixels (r, s);
        if (vectors && y < table_.height && x + kColumns <= table_.width)
          start_copy<sizeof (Pixels)> (&to, from);
        else
#pragma unroll
          for (int c = 0; c < kColumns; c++)
            to.values[c] = y < table_.height && x + c < table_.width ? from[c] : Pixel (0);
      }
    await_copies ();
  }

  /// Adds up the rows and the columns of a warp.
  __device__ void sum ()
  {
    const Sums pixel_sums (plane_);
    Sum running = Sum (0), sums[kChunks][kColumns] = {}, before[1][kChunks];
#pragma unroll 1
    for (int first = 0; first < kRows; first += kSummed) {
      Sum rows[kSummed];
#pragma unroll
      for (int r = 0; r < kSummed; r++) {
#pragma unroll
        for (int s = 0; s < kChunks; s++)
          running = Sum (running + pixel_sums.add (own_pixels (first + r, s), sums[s]));
        rows[r] = running;
      }
      const Sum row = warp_sums (rows);
      constexpr int kLanes = kWarp / kSummed;
      if (lane_ % kLanes == 0)
        shared_.rows[warp_ * kRows + first + lane_ / kLanes] = row;
    }
#pragma unroll
    for (int s = 0; s < kChunks; s++)
      before[0][s] = sums[s][kColumns - 1];
    scan_lanes (before);
#pragma unroll
    for (int s = 0; s < kChunks; s++)
#pragma unroll
      for (int c = 0; c < kColumns; c++)
        shared_.columns[warp_][own_column (s) + c] = Sum (before[0][s] + sums[s][c]);
    __syncthreads ();
  }

  /// Adds up what the warps have, and publishes it.
  __device__ void publish ()
  {
    const int own = threadIdx.x;
    if (own < kWidth) {
      Sum all = Sum (0);
#pragma unroll
      for (int w = 0; w < kWarps; w++) {
        const Sum sum = shared_.columns[w][own];
        shared_.columns[w][own] = all;
        all = Sum (all + sum);
      }
      states_.column_sums[std::size_t (tile_) * kWidth + own] = T (all);
    }
    if (own < kHeight) {
      Sum all = Sum (0);
#pragma unroll
      for (int w = 1; w < kWarps; w++)
        if (w * kRows <= own)
          all = Sum (all + shared_.rows[w * kRows - 1]);
      states_.row_sums[std::size_t (tile_) * kHeight + own] = T (Sum (all + shared_.rows[own]));
    }
    __syncthreads ();
    if (own == kWarps * kWarp - 1)
      raise (states_.flags[tile_].has_sums, epoch_);
  }

  /// Gets the sums of what lies above, to the left, and both, from the last checkpoints on.
  __device__ void look_back ()
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

  /// Adds it all up, a row after the other.
  __device__ void store ()
  {
    const Sums pixel_sums (plane_);
    T base[kChunks][kColumns];
    Sum running[kChunks] = {}, sums[kChunks][kColumns] = {};
#pragma unroll
    for (int s = 0; s < kChunks; s++)
#pragma unroll
      for (int c = 0; c < kColumns; c++) {
        const int x = own_column (s) + c;
        base[s][c] = T (T (shared_.corner + shared_.above[x]) + T (shared_.columns[warp_][x]));
      }
#pragma unroll 1
    for (int first = 0; first < kRows; first += kStored) {
      Sum before[kStored][kChunks], here[kStored][kChunks][kColumns];
#pragma unroll
      for (int r = 0; r < kStored; r++)
#pragma unroll
        for (int s = 0; s < kChunks; s++) {
          running[s] = Sum (running[s] + pixel_sums.add (own_pixels (first + r, s), sums[s]));
          before[r][s] = running[s];
#pragma unroll
          for (int c = 0; c < kColumns; c++)
            here[r][s][c] = sums[s][c];
        }
      scan_lanes (before);
#pragma unroll
      for (int r = 0; r < kStored; r++)
#pragma unroll
        for (int s = 0; s < kChunks; s++) {
          const T left = T (shared_.left[warp_ * kRows + first + r] + T (before[r][s]));
          Elements elements;
#pragma unroll
          for (int c = 0; c < kColumns; c++)
            elements.values[c] = T (base[s][c] + T (left + T (here[r][s][c])));
          store_vector (elements, first_x (s), first_y () + first + r);
        }
    }
  }

private:
  /// What the tiles before this one, in its column or row, have published since the checkpoint.
  struct Before {
    int first, step;        // tiles
    int n;                  // how many there are since the checkpoint
    const T *sums;          // of the first
    std::size_t sums_step;  // elements
    const T *checkpoint;    // what the first has published as one; null if it is none
    T *own_checkpoint;      // what this tile publishes as one; null if it is none
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

  /// Adds up what the tiles before have published, always in the same order; a lane has kColumns
  /// sums. Returns its last.
  template <int kSize>
  __device__ T add_up (const Before &before, Epoch TileFlags<T>::*checkpoint_flag, int warp,
                       T (&to)[kSize]) const
  {
    static_assert (kCheckpoint<T> < kWarp && kSize % kColumns == 0);
    constexpr int kBatch = 8;  // loads in flight
    if (lane_ < before.n)
      await (states_.flags[before.first + lane_ * before.step].has_sums, epoch_);
    if (lane_ == kCheckpoint<T> && before.checkpoint)
      await (states_.flags[before.first].*checkpoint_flag, epoch_);
    __syncwarp ();
    const int i = (warp * kWarp + lane_) * kColumns;
    if (i >= kSize)
      return T (0);
    Elements sum = {}, values[kBatch];
    if (before.checkpoint)
      sum = load_published (before.checkpoint + i);
    const T *from = before.sums + i;
#pragma unroll 1
    for (int first = 0; first < before.n; first += kBatch) {
#pragma unroll
      for (int k = 0; k < kBatch; k++, from += before.sums_step)
        if (first + k < before.n)
          values[k] = load_published (from);
#pragma unroll
      for (int k = 0; k < kBatch; k++)
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

  /// Reads what another block has written, which is in L2.
  __device__ static Elements load_published (const T *from)
  {
    const uint4 words = __ldcg (reinterpret_cast<const uint4 *> (from));
    Elements vector;
    static_assert (sizeof vector == sizeof words);
    memcpy (&vector, &words, sizeof words);
    return vector;
  }

  /// Returns the index of the last checkpoint to the left, or of the row's start.
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

  /// Returns the tile's column that is this lane's first in a chunk.
  __device__ int own_column (int chunk) const
  {
    return (chunk * kWarp + lane_) * kColumns;
  }
  __device__ int first_x (int chunk) const
  {
    return column_ * kWidth + own_column (chunk);
  }
  __device__ int first_y () const
  {
    return row_ * kHeight + warp_ * kRows;
  }
  __device__ Pixels &own_pixels (int row, int chunk)
  {
    return shared_.pixels[warp_ * kRows + row][chunk][lane_];
  }

  /// Turns what each lane has of the chunks of some rows into what lies to the left of it. The rows
  /// take turns, as a step takes long.
  template <int kCount>
  __device__ void scan_lanes (Sum (&rows)[kCount][kChunks]) const
  {
#pragma unroll
    for (int step = 1; step < kWarp; step *= 2)
#pragma unroll
      for (int r = 0; r < kCount; r++)
#pragma unroll
        for (int s = 0; s < kChunks; s++)
          rows[r][s] = add_lane_below (rows[r][s], step);
#pragma unroll
    for (int r = 0; r < kCount; r++) {
      Sum left = Sum (0);
#pragma unroll
      for (int s = 0; s < kChunks; s++) {
        const Sum all = rows[r][s], before = shuffle_up (all, 1);
        rows[r][s] = lane_ > 0 ? Sum (left + before) : left;
        if (s + 1 < kChunks)
          left = Sum (left + shuffle (all, kWarp - 1));
      }
    }
  }

  /// Stores around L2's other lines. Bytes behind the row's end stay as they are.
  __device__ void store_vector (const Elements &elements, int x, int y) const
  {
    T *const to = table_.line (plane_, y) + x;
    if (y < table_.height && x + kColumns <= table_.width) {
      uint4 words;
      memcpy (&words, &elements, sizeof words);
      __stcs (reinterpret_cast<uint4 *> (to), words);
      return;
    }
#pragma unroll
    for (int c = 0; c < kColumns; c++)
      if (y < table_.height && x + c < table_.width)
        to[c] = elements.values[c];
  }

  Shared &shared_;
  const Planes<T> &table_;
  const PixelPlane &pixels_;
  const States &states_;
  const int lane_ = threadIdx.x % kWarp, warp_ = threadIdx.x / kWarp;
  Epoch epoch_;
  int plane_, row_, column_;  // of the tile
  int line_, tile_;           // lines of tiles above it in all planes; its index
};

}  // namespace inthist::cuda
