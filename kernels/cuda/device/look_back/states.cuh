// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The sums that the tiles of a table publish to each other in look-back (look_back.cu), and the
// flags that tiles wait for. Each run has a number, its epoch. A flag has the epoch of an earlier
// run until a tile raises it to the epoch of this run, so nothing is cleared between runs.
#pragma once

#include <cstdint>
#include <cstring>

#include <cuda/atomic>
#include <cuda_runtime.h>

#include "../../../planes.hpp"
#include "../../look_back_policy.hpp"

namespace inthist::cuda {

using Epoch = std::uint32_t;

template <class Word>
using DeviceAtomic = ::cuda::atomic_ref<Word, ::cuda::thread_scope_device>;

/// Raises a tile's flag to the epoch, the number of this run. A block that has waited for the flag
/// sees all that the raising block wrote before its last barrier.
__device__ inline void raise (Epoch &flag, Epoch epoch)
{
  DeviceAtomic<Epoch> (flag).store (epoch, ::cuda::memory_order_release);
}

/// Waits until a tile's flag has the epoch, the number of this run. Pauses between polls leave
/// bandwidth to other blocks, which gains 1 % for f64 and f32x4.
__device__ inline void await (Epoch &flag, Epoch epoch)
{
  while (DeviceAtomic<Epoch> (flag).load (::cuda::memory_order_acquire) != epoch)
    __nanosleep (20);
}

/// A value that one tile publishes to others. The epoch (the number of the run) is stored next to
/// each 32-bit word, in the same 64-bit word, so neither reader nor writer needs a fence.
template <class T>
class Flagged {
public:
  __device__ void publish (const T &value, Epoch epoch)
  {
    std::uint32_t values[kWords];
    memcpy (values, &value, sizeof value);
#pragma unroll
    for (int i = 0; i < kWords; i++)
      DeviceAtomic<std::uint64_t> (words_[i]).store (std::uint64_t (epoch) << 32 | values[i],
                                                     ::cuda::memory_order_relaxed);
  }

  __device__ T await (Epoch epoch)
  {
    std::uint32_t values[kWords];
#pragma unroll
    for (int i = 0; i < kWords; i++) {
      std::uint64_t word;
      do
        word = DeviceAtomic<std::uint64_t> (words_[i]).load (::cuda::memory_order_relaxed);
      while (word >> 32 != epoch);
      values[i] = std::uint32_t (word);
    }
    T value;
    memcpy (&value, values, sizeof value);
    return value;
  }

private:
  static constexpr int kWords = sizeof (T) / sizeof (std::uint32_t);

  std::uint64_t words_[kWords];
};

/// The work that a block draws: the number of a tile, and the epoch, the number of the run.
struct Ticket {
  int n;
  Epoch epoch;
};

/// Counts the tickets, or tile numbers, that blocks draw. A run draws as many tickets as it has
/// tiles; the last draw prepares the next run.
class Tickets {
public:
  __device__ Ticket draw (int all)
  {
    const std::uint64_t before = atomicAdd (&state_, 1ull);
    const Ticket ticket = { int (std::uint32_t (before)), Epoch (before >> 32) + 1 };
    if (ticket.n == all - 1)
      atomicAdd (&state_, (1ull << 32) - std::uint64_t (all));
    return ticket;
  }

private:
  unsigned long long state_;  // finished runs (upper 32 bits), and tickets drawn in this run
};

/// The flags that tell others what a tile has published. Each tile has a cache line of its own,
/// because a line that one tile writes and others read is slow.
template <class T>
struct alignas (128) TileFlags {
  Epoch has_sums, has_above, has_left;
  Flagged<T> corner_sum;  // sum of the tile's columns over all rows above the tile
};

/// The sums that tiles publish in look-back, and their places in the workspace. A tile publishes
/// its own sums, which do not depend on other tiles. A checkpoint, which is every kCheckpoint<T>-th
/// tile of a column or row, also publishes the sums of all tiles above or left of the checkpoint.
template <class T, class Tile>
struct TileStates {
  int columns, rows, planes;  // of tiles
  Tickets *tickets;
  TileFlags<T> *flags;     // [tile]
  Flagged<T> *corner;      // [checkpoint]: sum of all tiles both above and to the left
  std::size_t flag_bytes;  // bytes from `tickets` on that are 0 before the first run
  T *column_sums;          // [tile][x]: sum of the tile's columns 0..x
  T *row_sums;             // [tile][y]: sum of the tile's rows 0..y
  T *above;                // [checkpoint][x]: sum of columns 0..x of all tiles above
  T *left;                 // [checkpoint][y]: sum of rows 0..y of all tiles to the left
  std::size_t bytes;

  TileStates (void *workspace, const Planes<T> &table)
      : columns (divide_up (table.width, Tile::kWidth)),
        rows (divide_up (table.height, Tile::kHeight)), planes (table.count)
  {
    std::size_t used = 0;
    const auto take = [&]<class V> (V *&array, std::size_t n) {
      array = reinterpret_cast<V *> (static_cast<std::uint8_t *> (workspace) + used);
      used += round_up (n * sizeof (V), 128);
    };
    const std::size_t n = std::size_t (planes) * rows * columns,
                      in_columns = checkpoints (rows) * columns * planes,
                      in_rows = checkpoints (columns) * rows * planes;
    take (tickets, 1);
    take (flags, n);
    take (corner, in_rows);
    flag_bytes = used;
    take (column_sums, n * Tile::kWidth);
    take (row_sums, n * Tile::kHeight);
    take (above, in_columns * Tile::kWidth);
    take (left, in_rows * Tile::kHeight);
    bytes = used;
  }

  __host__ __device__ int tiles () const { return planes * rows * columns; }
  __host__ __device__ static std::size_t checkpoints (int tiles)
  {
    return divide_up (tiles, kCheckpoint<T>);
  }
};

}  // namespace inthist::cuda
