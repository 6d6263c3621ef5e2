// SPDX-License-Identifier: LGPL-2.1-or-later
//
// wf-tis: wave-front tiled scan of Poostchi et al. 2017, section 3.5, Algorithm 5 and Fig. 6. A
// launch computes all tiles on one diagonal, for all bins. A tile is scanned along its rows, then
// down its columns, in shared memory, so it is read and written once. It continues from the
// finished row above it, and from the last column of the tile to its left as it was between the two
// scans. Extra memory has that column: `height` elements for each bin.
//
// Traffic, bytes per u32 element: 4 initialise, 8 scan: 12, and 2 / tile for the columns; width /
// tile + height / tile - 1 launches (eq. 6), the first and last few of which cannot fill a GPU. On
// an H200 it is faster than cw-tis, which the paper found too, but not for a single plane.
#include "tile.cuh"

namespace inthist {
namespace cuda {
namespace {

template <class T, int kTile>
__global__ void __launch_bounds__ (1024)
scan_diagonal (Planes<T> planes, T *left_columns, int diagonal, int first_row)
{
  __shared__ Tile<T, kTile> tile;
  const int p = blockIdx.y, y0 = (first_row + blockIdx.x) * kTile,
            x0 = (diagonal - first_row - int (blockIdx.x)) * kTile;
  const int rows = min (kTile, planes.height - y0), columns = min (kTile, planes.width - x0);
  tile.load (planes, p, x0, y0);
  tile.for_lines (rows, [&] (int y) {
    T &left = left_columns[std::size_t (p) * planes.height + y0 + y];
    T sum = x0 > 0 ? left : T (0);
    for (int x = 0; x < columns; x++)
      tile.elements[y][x] = sum = T (sum + tile.elements[y][x]);
    left = sum;
  });
  tile.for_lines (columns, [&] (int x) {
    T sum = y0 > 0 ? planes.line (p, y0 - 1)[x0 + x] : T (0);
    for (int y = 0; y < rows; y++)
      tile.elements[y][x] = sum = T (sum + tile.elements[y][x]);
  });
  tile.store (planes, p, x0, y0);
}

struct WfTis {
  template <class T>
  static std::size_t workspace_bytes (const Planes<T> &out, const Tuning &)
  {
    return std::size_t (out.count) * out.height * sizeof (T);
  }

  template <class T, class Source>
  static int run (const Planes<T> &out, Source source, const Job &job)
  {
    initialise (out, source, job);
    job.stage ("diagonals");
    return with_tile<T> (job.tuning, [&] (auto side) {
      constexpr int kTile = side;
      const int columns = divide_up (out.width, kTile), rows = divide_up (out.height, kTile);
      for (int diagonal = 0; diagonal < columns + rows - 1; diagonal++) {
        const int first_row = std::max (0, diagonal - columns + 1),
                  last_row = std::min (rows - 1, diagonal);
        scan_diagonal<T, kTile>
            <<<dim3 (last_row - first_row + 1, out.count), job.tuning.threads_or (kTileThreads), 0,
               job.stream>>> (out, static_cast<T *> (job.workspace), diagonal, first_row);
      }
      return cudaGetLastError ();
    });
  }
};

}  // namespace
}  // namespace cuda

extern constinit const Strategy kWfTis = cuda::over_planes<cuda::WfTis> (
    { .name = "wf-tis",
      .description =
          "CUDA: tiled wave-front, one launch a diagonal (Poostchi et al. 2017, Algorithm 5)",
      .supports = cuda::tile_fits,
      .limit = cuda::kTileLimit,
      .tiles = cuda::kTiles,
      .threads = cuda::kTileThreads });

}  // namespace inthist
