// SPDX-License-Identifier: LGPL-2.1-or-later
//
// blocked: Dang, Yan and Wu 2014 (from its abstract: intra-block reduction, auxiliary matrix scan,
// intra-block scan). The planes are cut into tiles, whose columns and rows are summed first. Prefix
// sums of the column sums, down the tiles, give the sums above each tile. Prefix sums of the row
// sums, along the tiles and then down the rows, give the integral histogram in the column left of
// each tile. Each tile is then scanned by itself: its columns start from the sums above, and its
// rows from the integral histogram to the left. No block waits for another.
//
// Traffic, bytes per u32 element: 4 initialise, 4 reduce, 8 scan: 16, and 20 / tile for the
// auxiliary matrices. On an H200 it takes 0.39 and 0.29 of the time of scan-transpose-scan at
// 640x480x32 and 1920x1080x32. The abstract claims half as many memory accesses.
#include "scan_rows_and_columns.cuh"
#include "tile.cuh"

namespace inthist {
namespace cuda {
namespace {

constexpr int kThreads[] = { 256, 128, 64, 32, 512, 1024 };

/// Adds up tiles. Row s + 1 of `above` gets the column sums of the tiles in strip (row of tiles) s,
/// and column s + 1 of `left` the row sums of the tiles in column s. Row 0 and column 0 are zero.
template <class T, int kTile>
__global__ void __launch_bounds__ (1024)
reduce_tiles (Planes<T> planes, Planes<T> above, Planes<T> left)
{
  __shared__ Tile<T, kTile> tile;
  const int segment = blockIdx.x % left.width, strip = blockIdx.x / left.width, p = blockIdx.y;
  const int x0 = segment * kTile, y0 = strip * kTile;
  const int columns = min (kTile, planes.width - x0), rows = min (kTile, planes.height - y0);
  tile.load (planes, p, x0, y0);
  tile.for_lines (columns, [&] (int x) {
    T sum = T (0);
    for (int y = 0; y < rows; y++)
      sum = T (sum + tile.elements[y][x]);
    if (strip == 0)
      above.line (p, 0)[x0 + x] = T (0);
    if (strip + 1 < above.height)
      above.line (p, strip + 1)[x0 + x] = sum;
  });
  tile.for_lines (rows, [&] (int y) {
    T sum = T (0);
    for (int x = 0; x < columns; x++)
      sum = T (sum + tile.elements[y][x]);
    if (segment == 0)
      left.line (p, y0 + y)[0] = T (0);
    if (segment + 1 < left.width)
      left.line (p, y0 + y)[segment + 1] = sum;
  });
}

template <class T, int kTile>
__global__ void __launch_bounds__ (1024)
scan_tiles (Planes<T> planes, Planes<T> above, Planes<T> left)
{
  __shared__ Tile<T, kTile> tile;
  const int segment = blockIdx.x % left.width, strip = blockIdx.x / left.width, p = blockIdx.y;
  const int x0 = segment * kTile, y0 = strip * kTile;
  const int columns = min (kTile, planes.width - x0), rows = min (kTile, planes.height - y0);
  tile.load (planes, p, x0, y0);
  tile.for_lines (columns, [&] (int x) {
    T sum = above.line (p, strip)[x0 + x];
    for (int y = 0; y < rows; y++)
      tile.elements[y][x] = sum = T (sum + tile.elements[y][x]);
  });
  tile.for_lines (rows, [&] (int y) {
    T sum = left.line (p, y0 + y)[segment];
    for (int x = 0; x < columns; x++)
      tile.elements[y][x] = sum = T (sum + tile.elements[y][x]);
  });
  tile.store (planes, p, x0, y0);
}

struct Blocked {
  template <class T>
  static Planes<T> above (const Planes<T> &out, int tile, void *workspace)
  {
    return Planes<T>::packed (workspace, out.width, divide_up (out.height, tile), out.count);
  }

  template <class T>
  static Planes<T> left (const Planes<T> &out, int tile, void *workspace)
  {
    return Planes<T>::packed (workspace, divide_up (out.width, tile), out.height, out.count);
  }

  template <class T>
  static std::size_t workspace_bytes (const Planes<T> &out, const Tuning &tuning)
  {
    return with_tile<T> (tuning, [&] (auto side) {
      return above (out, side, nullptr).bytes () + left (out, side, nullptr).bytes ();
    });
  }

  template <class T, class Source>
  static int run (const Planes<T> &out, Source source, const Job &job)
  {
    initialise (out, source, job);
    return with_tile<T> (job.tuning, [&] (auto side) {
      constexpr int kTile = side;
      const Planes<T> above = Blocked::above (out, kTile, job.workspace);
      const Planes<T> left = Blocked::left (out, kTile, above.data + above.plane * above.count);
      const dim3 tiles (left.width * above.height, out.count);
      const int threads = job.tuning.threads_or (kThreads);
      job.stage ("reduce");
      reduce_tiles<T, kTile><<<tiles, threads, 0, job.stream>>> (out, above, left);
      job.stage ("scan sums");
      scan_columns (above, job.stream);
      scan_rows (left, job.stream);
      scan_columns (left, job.stream);
      job.stage ("scan");
      scan_tiles<T, kTile><<<tiles, threads, 0, job.stream>>> (out, above, left);
      return cudaGetLastError ();
    });
  }
};

}  // namespace
}  // namespace cuda

extern constinit const Strategy kBlocked = cuda::over_planes<cuda::Blocked> (
    { .name = "blocked",
      .description =
          "CUDA: reduce tiles, scan the auxiliary matrices, scan tiles (Dang, Yan and Wu 2014)",
      .supports = cuda::tile_fits,
      .limit = cuda::kTileLimit,
      .tiles = cuda::kTiles,
      .threads = cuda::kThreads });

}  // namespace inthist
