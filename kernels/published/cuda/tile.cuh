// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A tile of a plane in shared memory, with rows padded by one against bank conflicts. All threads
// of the block load and store the tile, along rows; in between, a thread works on a row or column.
#pragma once

#include "scan_planes.cuh"

namespace inthist::cuda {

/// The sides of tiles, and numbers of threads, that Poostchi et al. 2017 compare in section 4.2.
inline constexpr int kTiles[] = { 64, 32, 16 };
inline constexpr int kTileThreads[] = { 1024, 512, 256, 128, 64, 32 };

/// Excludes tiles of 64 x 64 elements of 16 bytes: 65 KiB, more shared memory than a block has.
inline bool tile_fits (const Shape &shape, const Tuning &tuning)
{
  return tuning.tile < 64 || bytes_of (shape.counter) < 16;
}
inline constexpr const char *kTileLimit = "tiles of 64 for elements of up to 8 bytes";

template <class T, class Body>
auto with_tile (const Tuning &tuning, Body &&body)
{
  const int side = tuning.tile_or (kTiles);
  if constexpr (sizeof (T) < 16)
    if (side == 64)
      return body (std::integral_constant<int, 64> ());
  return side == 16 ? body (std::integral_constant<int, 16> ())
                    : body (std::integral_constant<int, 32> ());
}

template <class T, int kTile>
struct Tile {
  T elements[kTile][kTile + 1];

  /// Calls move (element, y, x) for all elements of the tile that lie inside the plane.
  template <class Move>
  __device__ void for_each (const Planes<T> &planes, int x0, int y0, Move move)
  {
    for (int i = threadIdx.x; i < kTile * kTile; i += blockDim.x) {
      const int y = i / kTile, x = i % kTile;
      if (x0 + x < planes.width && y0 + y < planes.height)
        move (elements[y][x], y, x);
    }
  }

  /// Calls body (i) for `lines` rows or columns i, each in another thread, between two barriers.
  template <class Body>
  __device__ void for_lines (int lines, Body body)
  {
    __syncthreads ();
    for (int i = threadIdx.x; i < min (lines, kTile); i += blockDim.x)
      body (i);
    __syncthreads ();
  }

  __device__ void load (const Planes<T> &planes, int p, int x0, int y0)
  {
    for_each (planes, x0, y0,
              [&] (T &element, int y, int x) { element = planes.line (p, y0 + y)[x0 + x]; });
  }

  __device__ void store (const Planes<T> &planes, int p, int x0, int y0)
  {
    for_each (planes, x0, y0,
              [&] (T &element, int y, int x) { planes.line (p, y0 + y)[x0 + x] = element; });
  }
};

}  // namespace inthist::cuda
