// SPDX-License-Identifier: LGPL-2.1-or-later
//
// wf-tis: wave-front tiled scan of Poostchi et al. 2017, section 3.5, Algorithm 5 and Fig. 6. A launch takes all tiles on one diagonal, for all bins. A tile is scanned
// along its rows, then down its columns, in shared memory, so that it is read and written once. It continues from the row above it, which is finished, and from the last
// column of the tile to its left as it was between the two scans: that column is kept in extra memory, height elements a bin (the paper's text says height; it is per bin).
//
// Traffic, bytes per u32 element: 4 initialise, 8 scan: 12, and 2 / tile for the columns; width / tile + height / tile - 1 launches (eq. 6), of which the first and last
// few have too few tiles to fill a GPU.
#include "device/planes.cuh"

namespace inthist {
namespace cuda {
namespace {

constexpr int kThreads = 256;

template <class T, int kTile>
__global__ void
__launch_bounds__ (kThreads)
scan_diagonal (Planes<T> planes, T *left_columns, int diagonal, int first_row)
{
  __shared__ T tile[kTile][kTile + 1];
  const int p = blockIdx.y, y0 = (first_row + blockIdx.x) * kTile, x0 = (diagonal - first_row - int (blockIdx.x)) * kTile;
  const int rows = min (kTile, planes.height - y0), columns = min (kTile, planes.width - x0);
  for (int i = threadIdx.x; i < kTile * kTile; i += kThreads) {
    const int y = i / kTile, x = i % kTile;
    if (y < rows && x < columns)
      tile[y][x] = planes.line (p, y0 + y)[x0 + x];
  }
  __syncthreads ();
  const int i = threadIdx.x;
  if (i < rows) {
    T &left = left_columns[std::size_t (p) * planes.height + y0 + i];
    T sum = x0 > 0 ? left : T (0);
    for (int x = 0; x < columns; x++)
      tile[i][x] = sum = T (sum + tile[i][x]);
    left = sum;
  }
  __syncthreads ();
  if (i < columns) {
    T sum = y0 > 0 ? planes.line (p, y0 - 1)[x0 + i] : T (0);
    for (int y = 0; y < rows; y++)
      tile[y][i] = sum = T (sum + tile[y][i]);
  }
  __syncthreads ();
  for (int j = threadIdx.x; j < kTile * kTile; j += kThreads) {
    const int y = j / kTile, x = j % kTile;
    if (y < rows && x < columns)
      planes.line (p, y0 + y)[x0 + x] = tile[y][x];
  }
}

struct WfTis {
  template <class T>
  static std::size_t workspace_bytes (const Planes<T> &out)
  {
    return std::size_t (out.count) * out.height * sizeof (T);
  }

  template <class T, class Source>
  static int run (const Planes<T> &out, Source source, void *workspace, Stream stream)
  {
    constexpr int kTile = 64;
    const int columns = divide_up (out.width, kTile), rows = divide_up (out.height, kTile);
    initialise (out, source, stream);
    for (int diagonal = 0; diagonal < columns + rows - 1; diagonal++) {
      const int first_row = max (0, diagonal - columns + 1), last_row = min (rows - 1, diagonal);
      scan_diagonal<T, kTile>
          <<<dim3 (last_row - first_row + 1, out.count), kThreads, 0, stream>>> (out, static_cast<T *> (workspace), diagonal, first_row);
    }
    return cudaGetLastError ();
  }
};

}  // namespace
}  // namespace cuda

extern const Strategy kWfTis;
const Strategy kWfTis = { .name = "wf-tis",
                          .description = "CUDA: tiled wave-front, one launch a diagonal (Poostchi et al. 2017, Algorithm 5)",
                          .device = Device::cuda,
                          .workspace_bytes = cuda::Histogram<cuda::WfTis>::workspace_bytes,
                          .run = cuda::Histogram<cuda::WfTis>::run };

}  // namespace inthist
