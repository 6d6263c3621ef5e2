// SPDX-License-Identifier: LGPL-2.1-or-later
//
// look-back: summed-area tables that are written once, from pixels that are read once. A block
// takes a tile. With its pixels in shared memory, it publishes the sums of the tile's rows and of
// its columns, adds up those of the tiles above and to the left, and stores. This is 1R1W-SKSS-LB
// of Emoto, Funasaka, Tokura, Nakano and Ito 2018: the decoupled look-back of Merrill and Garland
// 2016 in two directions. An element at (x, y) of a tile is the sum of
//
//   corner            all tiles that are to the left and above
//   above[x]          all tiles above, columns 0..x
//   left[y]           all tiles to the left, rows 0..y
//   h[y][x]           the tile itself
//
// No block waits for one that cannot run: a block draws its tile, and waits only for tiles drawn
// before. Tiles are drawn by diagonals, so that those that a block needs are well ahead of it,
// above as to the left. Looking back ends at a checkpoint, every 8th or 16th tile, which publishes
// what it found. Who adds what, and in which order, depends on the tile alone: floating sums have
// the same bits in each run. Flags are raised to the number of the run, so that nothing is cleared
// between runs.
//
// Traffic: the pixels, the table, and what tiles publish, twice: 2 to 10 % of the table. What costs
// time is a cache line that one processor writes and another reads soon after. So tiles are as
// large as shared memory lets them be, and no two tiles' flags share a line (with four to a line
// tables take 3 to 5 % more time). Times, and what was rejected:
// docs/measurements/2026-11-25-look-back.md.
#include <algorithm>

#include "device/hardware/attribute.cuh"
#include "device/look_back/block.cuh"
#include "device/hardware/overlap.cuh"

namespace inthist {
namespace cuda {
namespace {

// threads that a processor has room for, at least
#if __CUDA_ARCH__ == 750
constexpr int kRoom = 1024;
#else
constexpr int kRoom = 1536;
#endif

template <class Tile>
constexpr int kBlocksInRoom = std::min (Tile::kBlocks, kRoom / Tile::kThreads);

template <class T, class Source, class Tile>
__global__ void __launch_bounds__ (Tile::kThreads, kBlocksInRoom<Tile>)
look_back (Planes<T> table, PixelPlane pixels, bool vectors, TileStates<T, Tile> states)
{
  using Block = LookBack<T, Source, Tile>;
  extern __shared__ __align__ (16) unsigned char memory[];
  wait_for_previous ();
  let_next_start ();
  Block block (*reinterpret_cast<typename Block::Shared *> (memory), table, pixels, states);
  block.load (vectors);
  block.sum ();
  block.publish ();
  block.look_back ();
  block.store ();
}

/// Launches a block for each tile, with so much shared memory, of no more than `most_shared`.
template <class T, class Source, class Tile>
int launch (const Planes<T> &table, const Job &job, int shared, int most_shared)
{
  const TileStates<T, Tile> states (job.workspace, table);
  const auto kernel = look_back<T, Source, Tile>;
  // always the same value, as other threads may be launching the kernel
  if (const int error =
          cudaFuncSetAttribute (kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared);
      error != 0)
    return error;
  if (!job.workspace_kept) {
    job.stage ("clear");
    if (const int error = cudaMemsetAsync (job.workspace, 0, states.flag_bytes, job.stream);
        error != 0)
      return error;
  }
  job.stage ("tiles");
  const std::size_t lies = reinterpret_cast<std::size_t> (job.pixels.data) | job.pixels.stride;
  const bool vectors = lies % (sizeof (typename Source::Pixel) * Tile::kColumns) == 0;
  return launch_overlapped (kernel, unsigned (states.tiles ()), Tile::kThreads, shared, job.stream,
                            table, job.pixels, vectors, states);
}

template <class T, class Source>
using LargeTile = LookBackTile<T, kLookBackPolicy<T, Source>.large>;
template <class T, class Source>
using SmallTile = LookBackTile<T, kLookBackPolicy<T, Source>.small>;

/// Gets so much shared memory for a block that no processor has room for more than its share of
/// the tiles. Else those of the next table, which start early, come to lie unevenly.
int get_spread (int tiles, int &shared)
{
  int processors = 0, of_processor = 0, reserved = 0;
  if (const int error = device_attribute (cudaDevAttrMultiProcessorCount, processors); error != 0)
    return error;
  if (const int error =
          device_attribute (cudaDevAttrMaxSharedMemoryPerMultiprocessor, of_processor);
      error != 0)
    return error;
  if (const int error = device_attribute (cudaDevAttrReservedSharedMemoryPerBlock, reserved);
      error != 0)
    return error;
  shared = of_processor / divide_up (tiles, processors) - reserved;
  return 0;
}

template <class T, class Source>
int launch_tiles (const Planes<T> &table, const Job &job)
{
  using Large = LargeTile<T, Source>;
  using Small = SmallTile<T, Source>;
  constexpr auto kPolicy = kLookBackPolicy<T, Source>;
  constexpr int kLargeShared = sizeof (typename LookBack<T, Source, Large>::Shared),
                kSmallShared = sizeof (typename LookBack<T, Source, Small>::Shared);
  int room = 0;
  if (const int error = device_attribute (cudaDevAttrMaxSharedMemoryPerBlockOptin, room);
      error != 0)
    return error;
  const int tiles =
      divide_up (table.width, Large::kWidth) * divide_up (table.height, Large::kHeight);
  if (tiles < kPolicy.many || room < kLargeShared)
    return launch<T, Source, Small> (table, job, kSmallShared, room);
  int shared = kLargeShared;
  if (kPolicy.spread) {
    if (const int error = get_spread (tiles * table.count, shared); error != 0)
      return error;
    shared = std::clamp (shared, kLargeShared, room);
  }
  return launch<T, Source, Large> (table, job, shared, room);
}

bool supports (const Shape &shape, const Tuning &)
{
  return shape.content == Content::powers;
}

int run (const Job &job)
{
  return with_table_types (job.shape, [&]<class T, class Source> (ElementTypes<T, Source>) {
    return launch_tiles<T, Source> (planes_of<T> (job.shape, job.layout, job.tensor), job);
  });
}

std::size_t workspace_bytes (const Shape &shape, const Tuning &)
{
  return with_table_types (shape, [&]<class T, class Source> (ElementTypes<T, Source>) {
    const auto table = planes_of<T> (shape, layout_of (shape), nullptr);
    return std::max (TileStates<T, LargeTile<T, Source>> (nullptr, table).bytes,
                     TileStates<T, SmallTile<T, Source>> (nullptr, table).bytes);
  });
}

}  // namespace
}  // namespace cuda

extern constinit const Strategy kLookBack = {
  .name = "look-back",
  .description = "CUDA: tables, read once and written once, by tiles that look back at others "
                 "(after Emoto et al. 2018)",
  .device = Device::cuda,
  .workspace_bytes = cuda::workspace_bytes,
  .run = cuda::run,
  .keeps_workspace = true,
  .supports = cuda::supports,
  .limit = "tables"
};

}  // namespace inthist
