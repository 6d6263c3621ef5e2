// SPDX-License-Identifier: LGPL-2.1-or-later
//
// cw-tis: cross-weave tiled horizontal and vertical scan of Poostchi et al. 2017, section 3.4,
// Algorithm 4 and Fig. 5. A launch scans one strip of tiles, all rows (then all columns) of all
// bins. The next launch takes the next strip and continues from the last column (row) of the strip
// before. A tile goes through shared memory, where a thread adds up its own row (column): there is
// no transpose, and no thread is idle.
//
// Traffic, bytes per u32 element: 4 initialise, 8 horizontal, 8 vertical: 20; width / tile + height
// / tile launches. For a single plane it is slow: at 1920x1080 of f32 on an H200, 47 launches
// follow one another, with at most 30 blocks each for 132 multiprocessors.
#include "tile.cuh"

namespace inthist {
namespace cuda {
namespace {

template <class T, int kTile>
__global__ void __launch_bounds__ (1024)
scan_strip (Planes<T> planes, int strip, bool horizontal)
{
  __shared__ Tile<T, kTile> tile;
  const int p = blockIdx.y, along = blockIdx.x * kTile, across = strip * kTile;
  const int x0 = horizontal ? across : along, y0 = horizontal ? along : across;
  const int columns = min (kTile, planes.width - x0), rows = min (kTile, planes.height - y0);
  tile.load (planes, p, x0, y0);
  tile.for_lines (horizontal ? rows : columns, [&] (int i) {
    T sum = T (0);
    if (strip > 0)
      sum = horizontal ? planes.line (p, y0 + i)[x0 - 1] : planes.line (p, y0 - 1)[x0 + i];
    for (int j = 0; j < (horizontal ? columns : rows); j++) {
      T &element = horizontal ? tile.elements[i][j] : tile.elements[j][i];
      element = sum = T (sum + element);
    }
  });
  tile.store (planes, p, x0, y0);
}

struct CwTis : InPlace {
  template <class T, class Source>
  static int run (const Planes<T> &out, Source source, const Job &job)
  {
    initialise (out, source, job);
    return with_tile<T> (job.tuning, [&] (auto side) {
      constexpr int kTile = side;
      const int columns = divide_up (out.width, kTile), rows = divide_up (out.height, kTile),
                threads = job.tuning.threads_or (kTileThreads);
      job.stage ("horizontal");
      for (int strip = 0; strip < columns; strip++)
        scan_strip<T, kTile><<<dim3 (rows, out.count), threads, 0, job.stream>>> (out, strip, true);
      job.stage ("vertical");
      for (int strip = 0; strip < rows; strip++)
        scan_strip<T, kTile>
            <<<dim3 (columns, out.count), threads, 0, job.stream>>> (out, strip, false);
      return cudaGetLastError ();
    });
  }
};

}  // namespace
}  // namespace cuda

extern constinit const Strategy kCwTis = cuda::over_planes<cuda::CwTis> (
    { .name = "cw-tis",
      .description =
          "CUDA: tiled horizontal, then vertical strips (Poostchi et al. 2017, Algorithm 4)",
      .supports = cuda::tile_fits,
      .limit = cuda::kTileLimit,
      .tiles = cuda::kTiles,
      .threads = cuda::kTileThreads });

}  // namespace inthist
