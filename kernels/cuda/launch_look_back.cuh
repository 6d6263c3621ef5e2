// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Launches look-back (look_back.cu), which computes summed-area tables, for any types of elements.
#pragma once

#include <algorithm>

#include "device/hardware/attribute.cuh"
#include "device/hardware/overlap.cuh"
#include "device/look_back/block.cuh"

namespace inthist::cuda {

// the number of threads that every multiprocessor of this architecture has room for
#if __CUDA_ARCH__ == 750
constexpr int kRoom = 1024;
#else
constexpr int kRoom = 1536;
#endif

template <class Tile>
constexpr int kBlocksInRoom = std::min (Tile::kBlocks, kRoom / Tile::kThreads);

template <class T, class Source, class Tile>
__global__ void __launch_bounds__ (Tile::kThreads, kBlocksInRoom<Tile>)
look_back_kernel (Planes<T> table, PixelPlane pixels, bool vectors, TileStates<T, Tile> states)
{
  using Block = LookBackBlock<T, Source, Tile>;
  extern __shared__ __align__ (16) unsigned char memory[];
  wait_for_previous ();
  let_next_start ();
  Block block (*reinterpret_cast<typename Block::Shared *> (memory), table, pixels, states);
  block.load (vectors);
  block.sum ();
  block.publish ();
  block.gather_prefixes ();
  block.store ();
}

/// Launches a block of look-back for each tile of a table. A block has `shared` bytes of shared
/// memory; `most_shared` is the device's limit.
template <class T, class Source, class Tile>
int launch_look_back (const Planes<T> &table, const Job &job, int shared, int most_shared)
{
  const TileStates<T, Tile> states (job.workspace, table);
  const auto kernel = look_back_kernel<T, Source, Tile>;
  // the same limit of shared memory in all calls, because other CPU threads may launch the kernel
  TRY_CODE (
      cudaFuncSetAttribute (kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared));
  if (!job.workspace_kept) {
    job.stage ("clear");
    TRY_CODE (cudaMemsetAsync (job.workspace, 0, states.flag_bytes, job.stream));
  }
  job.stage ("tiles");
  const bool vectors = job.pixels.is_aligned (sizeof (typename Source::Pixel) * Tile::kColumns);
  return launch_overlapped (kernel, unsigned (states.tiles ()), Tile::kThreads, shared, job.stream,
                            table, job.pixels, vectors, states);
}

template <class T, class Source>
using LargeTile = LookBackTile<T, kLookBackPolicy<T, Source>.large>;
template <class T, class Source>
using SmallTile = LookBackTile<T, kLookBackPolicy<T, Source>.small>;

/// Gets how much shared memory a block must ask for so that each multiprocessor has room only for
/// its share of the tiles. Else the tiles of the next table, which start early, would spread
/// unevenly.
inline int get_spread (int tiles, int &shared)
{
  int processors = 0, of_processor = 0, reserved = 0;
  TRY_CODE (device_attribute (cudaDevAttrMultiProcessorCount, processors));
  TRY_CODE (device_attribute (cudaDevAttrMaxSharedMemoryPerMultiprocessor, of_processor));
  TRY_CODE (device_attribute (cudaDevAttrReservedSharedMemoryPerBlock, reserved));
  shared = of_processor / divide_up (tiles, processors) - reserved;
  return 0;
}

template <class T, class Source>
int launch_tiles (const Planes<T> &table, const Job &job)
{
  using Large = LargeTile<T, Source>;
  using Small = SmallTile<T, Source>;
  constexpr auto kPolicy = kLookBackPolicy<T, Source>;
  constexpr int kLargeShared = sizeof (typename LookBackBlock<T, Source, Large>::Shared),
                kSmallShared = sizeof (typename LookBackBlock<T, Source, Small>::Shared);
  int room = 0;
  TRY_CODE (device_attribute (cudaDevAttrMaxSharedMemoryPerBlockOptin, room));
  const int tiles =
      divide_up (table.width, Large::kWidth) * divide_up (table.height, Large::kHeight);
  if (tiles < kPolicy.many || room < kLargeShared)
    return launch_look_back<T, Source, Small> (table, job, kSmallShared, room);
  int shared = kLargeShared;
  if (kPolicy.spread) {
    TRY_CODE (get_spread (tiles * table.count, shared));
    shared = std::clamp (shared, kLargeShared, room);
  }
  return launch_look_back<T, Source, Large> (table, job, shared, room);
}

template <class T, class Source>
std::size_t tiles_workspace_bytes (const Planes<T> &table)
{
  return std::max (TileStates<T, LargeTile<T, Source>> (nullptr, table).bytes,
                   TileStates<T, SmallTile<T, Source>> (nullptr, table).bytes);
}

}  // namespace inthist::cuda
