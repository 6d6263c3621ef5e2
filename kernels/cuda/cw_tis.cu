// SPDX-License-Identifier: LGPL-2.1-or-later
//
// cw-tis: cross-weave tiled horizontal and vertical scan of Poostchi et al. 2017, section 3.4, Algorithm 4 and Fig. 5. A launch scans one strip of tiles, all rows (then
// all columns) and all bins of it; the next launch takes the strip beside it and continues from its last column (row). A tile goes through shared memory, where a thread
// has a row (a column) of its own and adds serially: no transpose, and no thread idle.
//
// Traffic, bytes per u32 element: 4 initialise, 8 horizontal, 8 vertical: 20; width / tile + height / tile launches.
#include "device/planes.cuh"

namespace inthist {
namespace cuda {
namespace {

constexpr int kThreads = 256;

/// Moves a tile, clipped to the planes, between global and shared memory; all threads along rows.
template <class T, int kTile, class Move>
__device__ inline void
for_tile (const Planes<T> &planes, int x0, int y0, Move move)
{
  for (int i = threadIdx.x; i < kTile * kTile; i += kThreads) {
    const int y = i / kTile, x = i % kTile;
    if (x0 + x < planes.width && y0 + y < planes.height)
      move (y, x);
  }
}

template <class T, int kTile>
__global__ void
__launch_bounds__ (kThreads)
scan_strip (Planes<T> planes, int strip, bool horizontal)
{
  __shared__ T tile[kTile][kTile + 1];
  const int p = blockIdx.y, along = blockIdx.x * kTile, across = strip * kTile;
  const int x0 = horizontal ? across : along, y0 = horizontal ? along : across;
  for_tile<T, kTile> (planes, x0, y0, [&] (int y, int x) { tile[y][x] = planes.line (p, y0 + y)[x0 + x]; });
  __syncthreads ();
  const int i = threadIdx.x;
  if (i < kTile && (horizontal ? y0 + i < planes.height : x0 + i < planes.width)) {
    T sum = T (0);
    if (strip > 0)
      sum = horizontal ? planes.line (p, y0 + i)[x0 - 1] : planes.line (p, y0 - 1)[x0 + i];
    for (int j = 0; j < kTile; j++) {
      T &element = horizontal ? tile[i][j] : tile[j][i];
      element = sum = T (sum + element);
    }
  }
  __syncthreads ();
  for_tile<T, kTile> (planes, x0, y0, [&] (int y, int x) { planes.line (p, y0 + y)[x0 + x] = tile[y][x]; });
}

struct CwTis {
  template <class T>
  static std::size_t workspace_bytes (const Planes<T> &)
  {
    return 0;
  }

  template <class T, class Source>
  static int run (const Planes<T> &out, Source source, void *, Stream stream)
  {
    constexpr int kTile = 64;
    const int columns = divide_up (out.width, kTile), rows = divide_up (out.height, kTile);
    initialise (out, source, stream);
    for (int strip = 0; strip < columns; strip++)
      scan_strip<T, kTile><<<dim3 (rows, out.count), kThreads, 0, stream>>> (out, strip, true);
    for (int strip = 0; strip < rows; strip++)
      scan_strip<T, kTile><<<dim3 (columns, out.count), kThreads, 0, stream>>> (out, strip, false);
    return cudaGetLastError ();
  }
};

}  // namespace
}  // namespace cuda

extern const Strategy kCwTis;
const Strategy kCwTis = { .name = "cw-tis",
                          .description = "CUDA: tiled horizontal, then vertical strips (Poostchi et al. 2017, Algorithm 4)",
                          .device = Device::cuda,
                          .workspace_bytes = cuda::Histogram<cuda::CwTis>::workspace_bytes,
                          .run = cuda::Histogram<cuda::CwTis>::run };

}  // namespace inthist
