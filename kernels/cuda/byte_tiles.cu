// SPDX-License-Identifier: LGPL-2.1-or-later
//
// byte-tiles: counts columns, then marches down strips of rows of tiles. Two launches, as of strip:
//
//   count   counts, in every strip, the pixels of each bin in each column (device/strip_count.cuh)
//   march   walks down every strip of every bin, a lane a tile (device/tile_march.cuh)
//
// A tile's counts fit a byte, so four are added at a time, and a product with 0x01010101 scans four
// of them. Traffic, as a share of u32's tensor: 0.28 for tiles, or 0.31 where they are wide.
#include <algorithm>
#include <cstdlib>

#include "device/attribute.cuh"
#include "device/count_strips.cuh"
#include "device/tile_march.cuh"

namespace inthist {
namespace cuda {
namespace {

constexpr int kMostTiledWidth = 8192;
constexpr int kLeastTileRows = 2;  // of a strip; the workspace is for these

/// A launch of march, as a frame's shape wants it.
struct TileLaunch {
  void (*kernel) (BinBytes, Strips, Layout, std::uint8_t *);
  dim3 threads;
  int bytes;  // of a tile

  static TileLaunch of (const Shape &shape)
  {
    const Tiles tiles = tiles_of (shape);
    const unsigned row = round_up (tiles.columns, kWarp);
    const char *e = std::getenv ("TILE_BINS");
    unsigned bins = e ? std::atoi (e) : 2;
    while (bins > 1 && (bins * row > 256 || shape.bins % bins != 0))
      bins /= 2;
    return { tiles.wide ? march_tiles<true, 512>
             : row <= 256 ? march_tiles<false, 256> : march_tiles<false, 512>,
             dim3 (row, bins), tiles.bytes () };
  }

  std::size_t staged_bytes () const { return std::size_t (threads.x) * threads.y * bytes; }

  /// Lets the kernel have its shared memory, and gets how many blocks a processor has room for.
  int get_room (int &blocks) const
  {
    int most = 0;
    if (const int error = device_attribute (cudaDevAttrMaxSharedMemoryPerBlockOptin, most);
        error != 0)
      return error;
    // always the same value, as other threads may be launching the kernel
    if (const int error = cudaFuncSetAttribute (kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                std::min (most - 20 * 1024, 512 * bytes));
        error != 0)
      return error;
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor (
        &blocks, kernel, int (threads.x * threads.y), staged_bytes ());
  }
};

/// Returns the rows of tiles of a strip: those that are done first, if a block's start takes as
/// long as one and a half rows of tiles.
int tile_rows_of (const Shape &shape, const TileLaunch &launch, int places)
{
  if (const char *e = std::getenv ("TILE_ROWS"))
    return std::atoi (e);
  const int rows = tiles_of (shape).rows;
  int best = kLeastTileRows;
  double least = 1e30;
  for (int n = kLeastTileRows; n <= 16; n++) {
    const int blocks = divide_up (rows, n) * shape.bins / int (launch.threads.y);
    const double time = divide_up (blocks, places) * (n + 1.5);
    if (time < least)
      least = time, best = n;
  }
  return best;
}

std::size_t workspace_bytes (const Shape &shape, const Tuning &)
{
  const Strips strips (shape, kLeastTileRows * kTileSide, nullptr, kTileSide);
  return strips.row_of (strips.counted_cells (), 0) * sizeof (std::uint16_t);
}

bool supports (const Shape &shape, const Tuning &)
{
  return shape.width <= kMostTiledWidth
         && divide_up (shape.height, kLeastTileRows * kTileSide) <= kMostCells;
}

int run (const Job &job)
{
  const TileLaunch launch = TileLaunch::of (job.shape);
  int processors = 0, blocks = 0;
  if (const int error = device_attribute (cudaDevAttrMultiProcessorCount, processors); error != 0)
    return error;
  if (const int error = launch.get_room (blocks); error != 0)
    return error;
  Strips strips (job.shape,
                 tile_rows_of (job.shape, launch, std::max (1, processors * blocks)) * kTileSide,
                 job.workspace, kTileSide);
  strips.join_cells (processors, {});
  const Input input = input_of (job, strips, kTileSide);
  if (const int error = launch_bin_image (job, input); error != 0)
    return error;
  if (const int error = launch_count (job, strips, input); error != 0)
    return error;
  job.stage ("march");
  return launch_overlapped (
      launch.kernel, dim3 (unsigned (strips.n) * unsigned (strips.bins) / launch.threads.y),
      launch.threads, launch.staged_bytes (), job.stream,
      input.bins_by == BinsBy::count ? bin_plane_of (job) : input.pixels, strips, job.layout,
      static_cast<std::uint8_t *> (job.tensor));
}

}  // namespace
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
  .limit = "integral histograms in tiles, up to 8192 columns and 2097120 rows"
};
static_assert (cuda::kMostTiledWidth == 8192
               && cuda::kMostCells * cuda::kLeastTileRows * kTileSide == 2097120);

}  // namespace inthist
