// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The sums that the tiles of a table publish to each other (look_back.cu), and the flags that tiles
// wait for. Nothing is cleared between runs. Each run has a number, its epoch. A flag has the epoch
// of an earlier run until a tile of this run raises it to this run's epoch.
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

/// Raises a flag to this epoch. A block that has waited for the flag sees all that this block wrote
/// before its last barrier.
__device__ inline void raise (Epoch &flag, Epoch epoch)
{
  DeviceAtomic<Epoch> (flag).store (epoch, ::cuda::memory_order_release);
}

/// Waits until a flag has this epoch. Polling less often leaves bandwidth to other blocks, which
/// gains 1 % for f64 and f32x4.
__device__ inline void await (Epoch &flag, Epoch epoch)
{
  while (DeviceAtomic<Epoch> (flag).load (::cuda::memory_order_acquire) != epoch)
    __nanosleep (20);
}

/// A value in which each 32-bit word has an epoch next to it, so that neither reader nor writer
/// needs a fence.
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

/// A block's ticket: the number of its tile in the order of tiles, and the run's epoch.
struct Ticket {
  int n;
  Epoch epoch;
};

/// Lets blocks draw tickets. A run draws as many tickets as it has tiles; the last draw prepares
/// the next run.
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
  unsigned long long state_;  // finished runs, and tickets drawn in this one, 32 bits each
};

/// The flags of a tile. No two tiles share a cache line, because one tile writes the flags that
/// others read.
template <class T>
struct alignas (128) TileFlags {
  Epoch has_sums, has_above, has_left;
  Flagged<T> corner_sum;  // sum over the tile's columns in all rows above it
};

/// The number of tiles, and the sums that tiles publish. Each tile publishes its own sums, which do
/// not depend on other tiles. Every kCheckpoint<T>-th tile of a column also publishes the sums of
/// all tiles above it. Every kCheckpoint<T>-th tile of a row also publishes the sums of all tiles
/// left of it.
template <class T, class Tile>
struct TileStates {
  int columns, rows, planes;  // of tiles
  Tickets *tickets;
  TileFlags<T> *flags;     // [tile]
  Flagged<T> *corner;      // [checkpoint]: of all tiles to the left, of all rows above them
  std::size_t flag_bytes;  // bytes from `tickets` on that are 0 before the first run
  T *column_sums;          // [tile][x]: of the tile's columns 0..x
  T *row_sums;             // [tile][y]: of the tile's rows 0..y
  T *above;                // [checkpoint][x]: of columns 0..x of all tiles above
  T *left;                 // [checkpoint][y]: of rows 0..y of all tiles to the left
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
