// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The block of look-back: one tile of a table, from its pixels to its elements (look_back.cu has
// the idea).
#pragma once

#include "scan_planes.cuh"
#include "tile_states.cuh"
#include "warp.cuh"

namespace inthist::cuda {

/// Neighbouring values, for one load or store.
template <class T, int kCount>
struct alignas (sizeof (T) * kCount) Vector {
  T values[kCount];
};

/// Starts a copy to shared memory, which await_copies () waits for.
template <int kBytes>
__device__ inline void start_copy (void *to, const void *from)
{
#if __CUDA_ARCH__ >= 800
  const auto shared = unsigned (__cvta_generic_to_shared (to));
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(kBytes)
                 : "memory");
#else
  using Word = std::conditional_t<kBytes == 16, uint4, std::uint32_t>;
  *static_cast<Word *> (to) = *static_cast<const Word *> (from);
#endif
}

__device__ inline void await_copies ()
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/// Adds up the pixels of a tile.
template <class T, class Pixel, int kCount>
struct PixelSums {
  using Sum = T;

  /// Adds pixels 0..c to sums[c], and returns the sum of all.
  __device__ static Sum add (int plane, const Vector<Pixel, kCount> &pixels, Sum (&sums)[kCount])
  {
    Sum row = Power<Pixel, T>::power (pixels.values[0], plane);
    sums[0] = T (sums[0] + row);
#pragma unroll
    for (int c = 1; c < kCount; c++) {
      row = T (row + Power<Pixel, T>::power (pixels.values[c], plane));
      sums[c] = T (sums[c] + row);
    }
    return row;
  }
};

/// Adds up four bytes, or their squares, at a time. The sums of a tile fit a word.
template <class T>
struct PixelSums<T, std::uint8_t, 4> {
  using Sum = std::uint32_t;

  __device__ static Sum add (int plane, const Vector<std::uint8_t, 4> &pixels, Sum (&sums)[4])
  {
    std::uint32_t values;
    memcpy (&values, &pixels, sizeof values);
    const std::uint32_t factors = plane == 1 ? values : 0x01010101;
#pragma unroll
    for (int c = 0; c < 4; c++)
      sums[c] = __dp4a (values, factors & (~0u >> (24 - 8 * c)), sums[c]);
    return __dp4a (values, factors, 0u);
  }
};

/// Measures of a tile, in elements. A warp has kRows rows, and a lane kChunks times kColumns
/// neighbouring elements of each.
template <class T, int kRowsAWarp, int kChunksARow, int kBlocksAProcessor>
struct TileOf {
  static constexpr int kRows = kRowsAWarp, kChunks = kChunksARow, kBlocks = kBlocksAProcessor;
  static constexpr int kColumns = sizeof (T) <= 4 ? 4 : 16 / sizeof (T), kWarps = 8;
  static constexpr int kWidth = kChunks * kWarp * kColumns, kHeight = kWarps * kRows,
                       kThreads = kWarps * kWarp;
  static_assert (kWidth <= kThreads && kHeight <= kThreads);
};

/// Returns the row and column of the n-th tile by diagonals, from the upper left corner on.
__device__ inline int2 on_diagonals (int n, int rows, int columns)
{
  const int shorter = min (rows, columns), corner = shorter * (shorter - 1) / 2,
            full = (max (rows, columns) - shorter + 1) * shorter;
  const auto in_corner = [] (int n) {  // the row, and the diagonal
    int diagonal = int ((sqrtf (8.0f * float (n) + 1.0f) - 1.0f) / 2.0f);
    diagonal += (diagonal + 1) * (diagonal + 2) / 2 <= n;  // if the root was rounded
    diagonal -= diagonal * (diagonal + 1) / 2 > n;
    return int2{ n - diagonal * (diagonal + 1) / 2, diagonal };
  };
  if (n < corner) {
    const auto [row, diagonal] = in_corner (n);
    return { row, diagonal - row };
  }
  if (n < corner + full) {
    const int diagonal = shorter - 1 + (n - corner) / shorter,
              row = (n - corner) % shorter + max (0, diagonal - (columns - 1));
    return { row, diagonal - row };
  }
  const auto [row, diagonal] = in_corner (rows * columns - 1 - n);
  return { rows - 1 - row, columns - 1 - (diagonal - row) };
}

template <class T, class Pixel, class Tile>
class LookBack {
public:
  using States = TileStates<T, Tile>;

private:
  static constexpr int kColumns = Tile::kColumns, kChunks = Tile::kChunks, kRows = Tile::kRows,
                       kWarps = Tile::kWarps, kWidth = Tile::kWidth, kHeight = Tile::kHeight,
                       kCheckpoint = States::kCheckpoint;
  static constexpr int kSummed = 8, kStored = sizeof (T) <= 4 ? 4 : 2;  // rows at a time
  static_assert (kRows % kSummed == 0);

  using Pixels = Vector<Pixel, kColumns>;
  using Sums = PixelSums<T, Pixel, kColumns>;
  using Sum = typename Sums::Sum;  // over pixels of the tile

public:
  struct Shared {
    Pixels pixels[kHeight][kChunks][kWarp];  // a thread uses what it has loaded itself
    Sum columns[kWarps][kWidth];             // 0..x, of the rows of the warps above
    union {
      Sum rows[kHeight];  // 0..y, of the rows of one warp
      T left[kHeight];    // 0..y, of all tiles to the left
    };
    T above[kWidth];  // 0..x, of all tiles above
    T corner;         // of all tiles that are to the left and above
    int ticket;
  };

  /// Draws a ticket: tiles start in the order of their tickets, however blocks are scheduled.
  __device__ LookBack (Shared &shared, const Planes<T> &table, const PixelPlane &pixels,
                       const States &states)
      : shared_ (shared), table_ (table), pixels_ (pixels), states_ (states)
  {
    if (threadIdx.x == 0)
      shared_.ticket = int (atomicAdd (states_.drawn, 1));
    __syncthreads ();
    plane_ = shared_.ticket % states_.planes;
    const int2 place =
        on_diagonals (shared_.ticket / states_.planes, states_.rows, states_.columns);
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

  /// Adds up the tile's rows and columns, and publishes both.
  __device__ void sum ()
  {
    Sum running = Sum (0), sums[kChunks][kColumns] = {}, before[1][kChunks];
#pragma unroll 1
    for (int first = 0; first < kRows; first += kSummed) {
      Sum rows[kSummed];
#pragma unroll
      for (int r = 0; r < kSummed; r++) {
#pragma unroll
        for (int s = 0; s < kChunks; s++)
          running = Sum (running + Sums::add (plane_, own_pixels (first + r, s), sums[s]));
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
    if (own == 0)
      raise (&states_.has_sums[tile_]);
  }

  /// Gets the sums of what lies above, to the left, and both, from the last checkpoints on.
  __device__ void look_back ()
  {
    const int base_row = checkpoint_before (row_), base_column = checkpoint_before (column_),
              highest = (line_ - row_ + base_row) * states_.columns + column_,
              leftmost = line_ * states_.columns + base_column, own = threadIdx.x;
    if (warp_ == 0) {
      static_assert (2 * kCheckpoint + 2 <= kWarp);
      const int i = lane_ % kCheckpoint;
      if (lane_ < kCheckpoint && base_row + i < row_)
        await (&states_.has_sums[highest + i * states_.columns]);
      if (lane_ / kCheckpoint == 1 && base_column + i < column_)
        await (&states_.has_sums[leftmost + i]);
      if (lane_ == 2 * kCheckpoint && base_row > 0)
        await (&states_.has_above[highest]);
      if (lane_ == 2 * kCheckpoint + 1 && base_column > 0)
        await (&states_.has_left[leftmost]);
    }
    __syncthreads ();

    if (own < kWidth) {
      const std::size_t line = plane_ * States::checkpoints (states_.rows) + base_row / kCheckpoint,
                        step = std::size_t (states_.columns) * kWidth;
      T *const checkpoint = &states_.above[line * step + column_ * kWidth + own];
      const T sum = add_up (base_row > 0 ? load_published (checkpoint) : T (0),
                            &states_.column_sums[std::size_t (highest) * kWidth + own], step,
                            row_ - base_row);
      shared_.above[own] = sum;
      if (is_checkpoint (row_))
        checkpoint[step] = sum;
      if (own == kWidth - 1)
        states_.corner_sums[tile_].publish (sum);
    }
    const std::size_t checkpoint_left =
        line_ * States::checkpoints (states_.columns) + base_column / kCheckpoint;
    if (own < kHeight) {
      T *const checkpoint = &states_.left[checkpoint_left * kHeight + own];
      const T sum = add_up (base_column > 0 ? load_published (checkpoint) : T (0),
                            &states_.row_sums[std::size_t (leftmost) * kHeight + own], kHeight,
                            column_ - base_column);
      shared_.left[own] = sum;
      if (is_checkpoint (column_))
        checkpoint[kHeight] = sum;
    }
    if (warp_ == kWarps - 1)
      add_corners (&states_.corner_sums[leftmost], column_ - base_column,
                   &states_.corner[checkpoint_left], base_column > 0);
    __syncthreads ();
    if (own == 0 && is_checkpoint (row_))
      raise (&states_.has_above[tile_]);
    if (own == kWarp && is_checkpoint (column_))
      raise (&states_.has_left[tile_]);
  }

  /// Adds it all up, a row after the other.
  __device__ void store ()
  {
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
          running[s] = Sum (running[s] + Sums::add (plane_, own_pixels (first + r, s), sums[s]));
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
          Vector<T, kColumns> elements;
#pragma unroll
          for (int c = 0; c < kColumns; c++)
            elements.values[c] = T (base[s][c] + T (left + T (here[r][s][c])));
          store (elements, first_x (s), first_y () + first + r);
        }
    }
  }

private:
  __device__ static int checkpoint_before (int place)
  {
    return max (place - 1, 0) / kCheckpoint * kCheckpoint;
  }
  __device__ static bool is_checkpoint (int place)
  {
    return place > 0 && place % kCheckpoint == 0;
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

  /// Adds n values, at most kCheckpoint, that lie `step` apart, always in the same order.
  __device__ static T add_up (T sum, const T *from, std::size_t step, int n)
  {
    T values[kCheckpoint];
#pragma unroll
    for (int i = 0; i < kCheckpoint; i++)
      if (i < n)
        values[i] = load_published (from + i * step);
#pragma unroll
    for (int i = 0; i < kCheckpoint; i++)
      if (i < n)
        sum = T (sum + values[i]);
    return sum;
  }

  /// Adds up the n corners since the checkpoint; for one warp.
  __device__ void add_corners (const Flagged<T> *corners, int n, Flagged<T> *checkpoint,
                               bool has_checkpoint) const
  {
    T own[] = { T (0) };
    if (lane_ < n)
      own[0] = corners[lane_].await ();
    if (lane_ == kCheckpoint && has_checkpoint)
      own[0] = checkpoint->await ();
    __syncwarp ();
    const T sum = warp_sums (own);
    if (lane_ == 0) {
      shared_.corner = sum;
      if (is_checkpoint (column_))
        checkpoint[1].publish (sum);
    }
  }

  /// Stores around L2's other lines. Bytes behind the row's end stay as they are.
  __device__ void store (const Vector<T, kColumns> &elements, int x, int y) const
  {
    T *const to = table_.line (plane_, y) + x;
    if (y < table_.height && x + kColumns <= table_.width) {
      uint4 words;
      static_assert (sizeof elements == sizeof words);
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
  int plane_, row_, column_;  // of the tile
  int line_, tile_;           // lines of tiles above it in all planes; its index
};

}  // namespace inthist::cuda
