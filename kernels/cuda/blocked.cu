// SPDX-License-Identifier: LGPL-2.1-or-later
//
// blocked: Dang, Yan and Wu 2014 (from its abstract: intra-block reduction, auxiliary matrix scan, intra-block scan). The planes are cut into tiles. First each tile's
// columns and rows are summed. The sums of columns make a matrix with one row a strip of tiles, those of rows one with one column a segment; scanned in two dimensions they are
// H in the row above, and in the column left of every tile. Then each tile is scanned by itself and becomes
//
//   H(y, x) = H(above, x) + H(y, left) - H(above, left) + local (y, x)
//
// Traffic, bytes per u32 element: 4 initialise, 4 reduce, 8 scan: 16, and 20 / tile for the auxiliary matrices. No block waits for another.
#include "device/scan_rows_and_columns.cuh"

namespace inthist {
namespace cuda {
namespace {

constexpr int kTile = 64, kThreads = 256;

template <class T>
struct Tile {
  T elements[kTile][kTile + 1];

  __device__ void load (const Planes<T> &planes, int p, int x0, int y0)
  {
    for (int i = threadIdx.x; i < kTile * kTile; i += kThreads) {
      const int y = i / kTile, x = i % kTile;
      elements[y][x] = y0 + y < planes.height && x0 + x < planes.width ? planes.line (p, y0 + y)[x0 + x] : T (0);
    }
    __syncthreads ();
  }
};

/// `above` row s + 1: sums of the columns of strip s; row 0 is zero. `left` column s + 1: sums of the rows of segment s; column 0 is zero.
template <class T>
__global__ void
__launch_bounds__ (kThreads)
reduce_tiles (Planes<T> planes, Planes<T> above, Planes<T> left)
{
  __shared__ Tile<T> tile;
  const int segment = blockIdx.x % left.width, strip = blockIdx.x / left.width, p = blockIdx.y;
  const int x0 = segment * kTile, y0 = strip * kTile;
  tile.load (planes, p, x0, y0);
  const int i = threadIdx.x % kTile;
  if (threadIdx.x < kTile && x0 + i < planes.width) {
    T sum = T (0);
    for (int j = 0; j < kTile; j++)
      sum = T (sum + tile.elements[j][i]);
    if (strip == 0)
      above.line (p, 0)[x0 + i] = T (0);
    if (strip + 1 < above.height)
      above.line (p, strip + 1)[x0 + i] = sum;
  }
  if (kTile <= threadIdx.x && threadIdx.x < 2 * kTile && y0 + i < planes.height) {
    T sum = T (0);
    for (int j = 0; j < kTile; j++)
      sum = T (sum + tile.elements[i][j]);
    if (segment == 0)
      left.line (p, y0 + i)[0] = T (0);
    if (segment + 1 < left.width)
      left.line (p, y0 + i)[segment + 1] = sum;
  }
}

template <class T>
__global__ void
__launch_bounds__ (kThreads)
scan_tiles (Planes<T> planes, Planes<T> above, Planes<T> left)
{
  __shared__ Tile<T> tile;
  const int segment = blockIdx.x % left.width, strip = blockIdx.x / left.width, p = blockIdx.y;
  const int x0 = segment * kTile, y0 = strip * kTile;
  tile.load (planes, p, x0, y0);
  const int i = threadIdx.x;
  if (i < kTile) {
    T sum = T (0);
    for (int x = 0; x < kTile; x++)
      tile.elements[i][x] = sum = T (sum + tile.elements[i][x]);
  }
  __syncthreads ();
  if (i < kTile && x0 + i < planes.width) {
    const T *row = above.line (p, strip);
    const T corner = x0 > 0 ? row[x0 - 1] : T (0);
    T sum = T (row[x0 + i] - corner);
    for (int y = 0; y < kTile; y++)
      tile.elements[y][i] = sum = T (sum + tile.elements[y][i]);
  }
  __syncthreads ();
  for (int j = threadIdx.x; j < kTile * kTile; j += kThreads) {
    const int y = j / kTile, x = j % kTile;
    if (y0 + y < planes.height && x0 + x < planes.width)
      planes.line (p, y0 + y)[x0 + x] = T (tile.elements[y][x] + left.line (p, y0 + y)[segment]);
  }
}

struct Blocked {
  template <class T>
  static Planes<T> above (const Planes<T> &out, void *workspace)
  {
    return Planes<T>::packed (workspace, out.width, divide_up (out.height, kTile), out.count);
  }

  template <class T>
  static Planes<T> left (const Planes<T> &out, void *workspace)
  {
    return Planes<T>::packed (workspace, divide_up (out.width, kTile), out.height, out.count);
  }

  template <class T>
  static std::size_t workspace_bytes (const Planes<T> &out)
  {
    return above (out, nullptr).bytes () + left (out, nullptr).bytes ();
  }

  template <class T, class Source>
  static int run (const Planes<T> &out, Source source, void *workspace, Stream stream)
  {
    const Planes<T> above = Blocked::above (out, workspace), left = Blocked::left (out, above.data + above.plane * above.count);
    const dim3 tiles (left.width * above.height, out.count);
    initialise (out, source, stream);
    reduce_tiles<<<tiles, kThreads, 0, stream>>> (out, above, left);
    scan_rows_and_columns (above, stream);
    scan_rows_and_columns (left, stream);
    scan_tiles<<<tiles, kThreads, 0, stream>>> (out, above, left);
    return cudaGetLastError ();
  }
};

}  // namespace
}  // namespace cuda

extern const Strategy kBlocked;
const Strategy kBlocked = { .name = "blocked",
                            .description = "CUDA: reduce tiles, scan the auxiliary matrices, scan tiles (Dang, Yan and Wu 2014)",
                            .device = Device::cuda,
                            .workspace_bytes = cuda::Histogram<cuda::Blocked>::workspace_bytes,
                            .run = cuda::Histogram<cuda::Blocked>::run };

}  // namespace inthist
