// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the tiles of a table publish to each other (look_back.cu), and how they wait for it.
#pragma once

#include <cstdint>
#include <cstring>

#include <cuda_runtime.h>

#include "../../planes.hpp"

namespace inthist::cuda {

/// Raises a flag. Whoever has waited for it sees what this block wrote before its last barrier.
__device__ inline void raise (std::uint32_t *flag)
{
  asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
}

__device__ inline void await (const std::uint32_t *flag)
{
  std::uint32_t raised;
  do
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(raised) : "l"(flag) : "memory");
  while (!raised);
}

/// Reads what another block has written, which is in L2.
template <class T>
__device__ inline T load_published (const T *from)
{
  if constexpr (sizeof (T) == 16) {
    const uint4 words = __ldcg (reinterpret_cast<const uint4 *> (from));
    T value;
    memcpy (&value, &words, sizeof value);
    return value;
  } else {
    return __ldcg (from);
  }
}

/// A single value with a flag in each of its 32-bit words, so that neither needs a fence.
template <class T>
class Flagged {
public:
  __device__ void publish (const T &value)
  {
    std::uint32_t values[kWords];
    memcpy (values, &value, sizeof value);
#pragma unroll
    for (int i = 0; i < kWords; i++)
      asm volatile("st.relaxed.gpu.global.b64 [%0], %1;" ::"l"(&words_[i]), "l"(kFlag | values[i])
                   : "memory");
  }

  __device__ T await () const
  {
    std::uint32_t values[kWords];
#pragma unroll
    for (int i = 0; i < kWords; i++) {
      std::uint64_t word;
      do
        asm volatile("ld.relaxed.gpu.global.b64 %0, [%1];"
                     : "=l"(word)
                     : "l"(&words_[i])
                     : "memory");
      while (!(word & kFlag));
      values[i] = std::uint32_t (word);
    }
    T value;
    memcpy (&value, values, sizeof value);
    return value;
  }

private:
  static constexpr int kWords = sizeof (T) / sizeof (std::uint32_t);
  static constexpr std::uint64_t kFlag = std::uint64_t (1) << 32;

  std::uint64_t words_[kWords];
};

/// How many tiles there are, and what they publish. A tile's own sums are the same whatever lies
/// around it. Every kCheckpoint-th tile of a column also publishes the sums of all tiles above it,
/// and of a row the sums of all to its left.
template <class T, class Tile>
struct TileStates {
  static constexpr int kCheckpoint = 8;

  int columns, rows, planes;  // of tiles
  int words;                  // 32-bit words that are 0 at the start, from `drawn` on
  std::uint32_t *drawn;       // how many tickets are drawn
  std::uint32_t *has_sums, *has_above, *has_left;  // [tile]: flags
  Flagged<T> *corner_sums;  // [tile]: over the tile's columns, of all rows above it
  Flagged<T> *corner;       // [checkpoint]: of all tiles to the left, of all rows above them
  T *column_sums;           // [tile][x]: of the tile's columns 0..x
  T *row_sums;              // [tile][y]: of the tile's rows 0..y
  T *above;                 // [checkpoint][x]: of columns 0..x of all tiles above
  T *left;                  // [checkpoint][y]: of rows 0..y of all tiles to the left
  std::size_t bytes;

  TileStates (void *workspace, const Planes<T> &table)
      : columns (divide_up (table.width, Tile::kWidth)),
        rows (divide_up (table.height, Tile::kHeight)), planes (table.count)
  {
    std::size_t used = 0;
    const auto take = [&]<class V> (V *&array, std::size_t n) {
      array = reinterpret_cast<V *> (static_cast<std::uint8_t *> (workspace) + used);
      used += round_up (n * sizeof (V), 16);
    };
    const std::size_t n = tiles (), in_columns = checkpoints (rows) * columns * planes,
                      in_rows = checkpoints (columns) * rows * planes;
    take (drawn, 1);
    take (has_sums, n);
    take (has_above, n);
    take (has_left, n);
    take (corner_sums, n);
    take (corner, in_rows);
    words = int (used / sizeof (std::uint32_t));
    take (column_sums, n * Tile::kWidth);
    take (row_sums, n * Tile::kHeight);
    take (above, in_columns * Tile::kWidth);
    take (left, in_rows * Tile::kHeight);
    bytes = used;
  }

  __host__ __device__ int tiles () const { return planes * rows * columns; }
  __host__ __device__ static std::size_t checkpoints (int tiles)
  {
    return divide_up (tiles, kCheckpoint);
  }
};

}  // namespace inthist::cuda
