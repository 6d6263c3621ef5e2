// SPDX-License-Identifier: LGPL-2.1-or-later
//
// byte-tiles: computes integral histograms in tiles (tiles.hpp). It counts the pixels in columns,
// then goes down strips of tiles and writes each tile once. As in strip (strip.cu), there are two
// launches:
//
//   count   counts the pixels of each bin in each column of every strip (strip/column_counts.cuh)
//   scan    walks down each strip of each bin, a lane for each tile of a row (byte_tiles/scan.cuh)
//
// Counts inside a tile fit in a byte. So four counts are added at a time, and a multiplication by
// 0x01010101 gives the prefix sums of four counts. Traffic: 0.28 of the traffic of a u32 tensor, or
// 0.31 if tiles are wide. The tuned numbers are in byte_tiles_policy.hpp and count_policy.hpp.
#include "byte_tiles.hpp"

#include <algorithm>

#include "device/byte_tiles/scan.cuh"
#include "device/hardware/attribute.cuh"
#include "launch_counts.cuh"

namespace inthist {
namespace cuda {
namespace {

constexpr int kMaxTiledWidth = kMaxTileThreads * kTileSide;

/// The scan kernel of byte-tiles for a frame's shape, with its threads and bytes of shared memory.
struct TileLaunch {
  void (*kernel) (BinSource, Strips, Layout, std::uint8_t *);
  int threads, staged_bytes;

  /// Chooses the scan kernel. It writes tiles by way of shared memory if a block can have enough.
  static TileLaunch of (const Tiles &tiles, int shared_bytes)
  {
    const int threads = round_up (tiles.columns, kWarp), staged = threads * tiles.bytes ();
    const bool few = threads <= kMaxTileThreads / 2;
    if (staged <= shared_bytes)
      return { tiles.wide ? scan_tiles_kernel<true, true, kMaxTileThreads>
               : few      ? scan_tiles_kernel<false, true, kMaxTileThreads / 2>
                          : scan_tiles_kernel<false, true, kMaxTileThreads>,
               threads, staged };
    return { tiles.wide ? scan_tiles_kernel<true, false, kMaxTileThreads>
                        : scan_tiles_kernel<false, false, kMaxTileThreads>,
             threads, 0 };
  }

  /// Sets the scan kernel's shared-memory limit, and gets how many blocks fit on a multiprocessor.
  int get_room (int shared_bytes, int &blocks) const
  {
    // the same limit of shared memory in all calls, because other CPU threads may launch the kernel
    TRY_CODE (
        cudaFuncSetAttribute (kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor (&blocks, kernel, threads, staged_bytes);
  }
};

/// Gets the bytes of shared memory for a block's tiles: all but 4096, for the kernel's other data.
int get_shared_bytes (int &bytes)
{
  constexpr int kOwn = 4096;
  const int error = device_attribute (cudaDevAttrMaxSharedMemoryPerBlockOptin, bytes);
  bytes -= kOwn;
  return error;
}

int tile_rows_of (const Shape &shape, int places, const TilesPolicy &policy)
{
  const float rows = float (tiles_of (shape).rows) * shape.bins / (policy.busy * places);
  return std::clamp (int (rows) + 1, policy.least_rows, policy.most_rows);
}

std::size_t workspace_bytes (const Shape &shape, const Tuning &)
{
  const Strips strips (shape, TilesPolicy{}.least_rows * kTileSide, kTileSide, nullptr);
  return strips.row_of (strips.counted_row_blocks (), 0) * sizeof (std::uint16_t);
}

bool supports (const Shape &shape, const Tuning &)
{
  return shape.width <= kMaxTiledWidth;
}

int run (const Job &job)
{
  return run_byte_tiles (job, {});
}

}  // namespace

int run_byte_tiles (const Job &job, const TilesPolicy &policy)
{
  int processors = 0, shared_bytes = 0, blocks = 0;
  TRY_CODE (device_attribute (cudaDevAttrMultiProcessorCount, processors));
  TRY_CODE (get_shared_bytes (shared_bytes));
  const auto launch = TileLaunch::of (tiles_of (job.shape), policy.staged ? shared_bytes : 0);
  TRY_CODE (launch.get_room (shared_bytes, blocks));
  Strips strips (job.shape, tile_rows_of (job.shape, processors * blocks, policy) * kTileSide,
                 kTileSide, job.workspace);
  strips.join_row_blocks (processors, policy.count);
  const Input input = input_of (job, strips, kTileSide);
  TRY_CODE (launch_bin_image (job, input));
  TRY_CODE (launch_count_columns (job, strips, input));
  job.stage ("scan");
  return launch_overlapped (launch.kernel, unsigned (strips.n) * unsigned (strips.bins),
                            launch.threads, launch.staged_bytes, job.stream,
                            input.bins_made_by == BinsMadeBy::count ? bin_plane_of (job)
                                                                    : input.pixels,
                            strips, job.layout, static_cast<std::uint8_t *> (job.tensor));
}

}  // namespace cuda

extern constinit const Strategy kByteTiles = {
  .name = "byte-tiles",
  .description = "CUDA: column counts first, then strips of tiles, four counts at a time",
  .device = Device::cuda,
  .workspace_bytes = cuda::workspace_bytes,
  .run = cuda::run,
  .bins_itself = true,
  .makes_tiles = true,
  .supports = cuda::supports,
  .limit = "integral histograms in tiles (u8-tiled), up to 8192 columns"
};
static_assert (cuda::kMaxTiledWidth == 8192
               && std::int64_t (cuda::kMaxRowBlocks) * cuda::TilesPolicy{}.least_rows * kTileSide
                      >= kMaxTiledSide);

}  // namespace inthist
