// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Adds up cells, which are rectangles whose edges may lie inside pixels (cells.hpp), of many grids
// at once, and counts the bins of windows. A block adds up one row of cells of a grid: a thread
// works down columns of pixels, and adds them to the sums of their cells in shared memory. All
// numbers are integers, so the order of additions does not matter.
#include <algorithm>

#include <cuda_runtime.h>

#include "../cells.hpp"
#include "../expected.hpp"
#include "../features/weight.hpp"
#include "device/hardware/bytes.cuh"

namespace inthist::cuda {
namespace {

constexpr int kThreads = 128;  // threads of a block; other numbers were not measured

/// Calls body (cell, part) for each cell along an axis that contains a part of a pixel's side. The
/// unit of `part` is 1/kCellParts pixel. Cell i lies between edges[i] and edges[i + 1].
template <class Body>
__device__ void for_cells (const int *edges, int cells, int pixel, Body &&body)
{
  const int from = pixel * kCellParts, to = from + kCellParts;
  int first = 0, end = cells;  // binary search for the first cell that ends after the pixel's start
  while (first < end) {
    const int middle = (first + end) / 2;
    if (edges[middle + 1] > from)
      end = middle;
    else
      first = middle + 1;
  }
  for (int i = first; i < cells && edges[i] < to; i++)
    if (const int part = min (edges[i + 1], to) - max (edges[i], from); part > 0)
      body (i, part);
}

/// Return the pixels of a cell, given its first or last edge in units of 1/kCellParts pixel: the
/// first pixel that lies partly in the cell, and the first pixel after the cell.
__device__ int first_pixel (int edge)
{
  return edge / kCellParts;
}
__device__ int end_pixel (int edge)
{
  return divide_up (edge, kCellParts);
}

/// Adds up cells of weighted pixels. Whole rows are first summed in groups, of at most kMaxPixels
/// pixels in a cell, so that a sum of weights times widths (in 1/kCellParts pixel) fits in 32 bits.
__global__ void __launch_bounds__ (kThreads)
add_up_weights (PixelPlane words, int planes, const CellsOnDevice *grids)
{
  constexpr int kMaxPixels = 4096;
  extern __shared__ std::uint64_t totals[];  // [column][plane], then as many sums of 32 bits
  const CellsOnDevice grid = grids[blockIdx.y];
  const int row = int (blockIdx.x);
  if (row >= grid.rows)
    return;
  const int numbers = grid.columns * planes, top = grid.y[row], bottom = grid.y[row + 1],
            first = first_pixel (grid.x[0]), end = end_pixel (grid.x[grid.columns]),
            most_rows = max (1, kMaxPixels / grid.widest);
  auto *const sums = reinterpret_cast<std::uint32_t *> (totals + numbers);
  for (int i = threadIdx.x; i < numbers; i += kThreads)
    totals[i] = 0, sums[i] = 0;
  __syncthreads ();
  for (int y = first_pixel (top), rows; y * kCellParts < bottom; y += rows) {
    const auto parts_of = [&] (int at) {
      return min (bottom, (at + 1) * kCellParts) - max (top, at * kCellParts);
    };
    const int part = parts_of (y);
    rows = part < kCellParts ? 1 : min (most_rows, bottom / kCellParts - y);
    for (int x = first + threadIdx.x; x < end; x += kThreads)
      for_cells (grid.x, grid.columns, x, [&] (int column, int width) {
        std::uint32_t *const to = sums + column * planes;
        for (int i = 0; i < rows; i++) {
          const WeightedPixel pixel = reinterpret_cast<const WeightedPixel *> (
              words.data + std::size_t (y + i) * words.stride)[x];
          if (const int bin = pixel.bin (); bin < planes) {
            if (pixel.to_bin () > 0)
              atomicAdd (to + bin, pixel.to_bin () * width);
            if (pixel.to_next () > 0)
              atomicAdd (to + (bin + 1 == planes ? 0 : bin + 1), pixel.to_next () * width);
          }
        }
      });
    __syncthreads ();
    for (int i = threadIdx.x; i < numbers; i += kThreads) {
      totals[i] += std::uint64_t (sums[i]) * part;
      sums[i] = 0;
    }
    __syncthreads ();
  }
  std::int64_t *const out = grid.sums + std::size_t (row) * numbers;
  for (int i = threadIdx.x; i < numbers; i += kThreads)
    out[i] = std::int64_t (totals[i]);
}

/// Adds up cells of pixels without weights, by a table of what each value adds to each plane.
template <int kPlanes>
__global__ void __launch_bounds__ (kThreads)
add_up_values (PixelPlane values, const CellsOnDevice *grids)
{
  extern __shared__ std::uint64_t totals[];  // [column][plane]
  __shared__ std::uint16_t table[kPlanes * 256];
  const CellsOnDevice grid = grids[blockIdx.y];
  const int row = int (blockIdx.x);
  if (row >= grid.rows)
    return;
  const int numbers = grid.columns * kPlanes, top = grid.y[row], bottom = grid.y[row + 1],
            first = first_pixel (grid.x[0]), end = end_pixel (grid.x[grid.columns]);
  for (int i = threadIdx.x; i < numbers; i += kThreads)
    totals[i] = 0;
  for (int i = threadIdx.x; i < kPlanes * 256; i += kThreads)
    table[i] = grid.value_weights[i];
  __syncthreads ();
  for (int x = first + threadIdx.x; x < end; x += kThreads) {
    std::uint64_t sums[kPlanes] = {};
    for (int y = first_pixel (top); y < end_pixel (bottom); y++) {
      const int part = min (bottom, (y + 1) * kCellParts) - max (top, y * kCellParts);
      const int value = values.data[std::size_t (y) * values.stride + x];
#pragma unroll
      for (int p = 0; p < kPlanes; p++)
        sums[p] += std::uint32_t (table[p * 256 + value]) * part;
    }
    for_cells (grid.x, grid.columns, x, [&] (int column, int width) {
#pragma unroll
      for (int p = 0; p < kPlanes; p++)
        atomicAdd (reinterpret_cast<unsigned long long *> (totals + column * kPlanes + p),
                   sums[p] * width);
    });
  }
  __syncthreads ();
  std::int64_t *const out = grid.sums + std::size_t (row) * numbers;
  for (int i = threadIdx.x; i < numbers; i += kThreads)
    out[i] = std::int64_t (totals[i]);
}

constexpr int kSlices = 4;  // slices of a window, each counted by one block

__global__ void __launch_bounds__ (kThreads)
count_pixels (PixelPlane values, const __grid_constant__ LutWords lut, int bins,
              const Region *windows, std::uint32_t *counts)
{
  __shared__ LutWords shared_lut;
  __shared__ std::uint32_t sums[256];
  for (int i = threadIdx.x; i < 256; i += kThreads)
    sums[i] = 0;
  shared_lut.copy (lut);
  __syncthreads ();
  const std::uint8_t *const table = shared_lut.table ();
  const Region window = windows[blockIdx.x];
  const int slice = int (blockIdx.y), warp = int (threadIdx.x) / 32, lane = int (threadIdx.x) % 32;
  for (int y = slice * (kThreads / 32) + warp; y < window.height; y += kSlices * (kThreads / 32)) {
    const std::uint8_t *const row =
        values.data + std::size_t (window.y + y) * values.stride + window.x;
    for (int x = lane; x < window.width; x += 32)
      atomicAdd (sums + table[row[x]], 1);
  }
  __syncthreads ();
  for (int b = threadIdx.x; b < bins; b += kThreads)
    if (sums[b] > 0)
      atomicAdd (counts + std::size_t (blockIdx.x) * bins + b, sums[b]);
}

}  // namespace

static_assert (kMaxCellSums * (sizeof (std::uint64_t) + sizeof (std::uint32_t)) <= 48 << 10);

int add_up_cells (PixelPlane values, const Shape &shape, const CellGrids &grids, Stream stream)
{
  constexpr int kMaxAtOnce = 65535;
  const bool weights = shape.content == Content::weights, squares = shape.has_squares ();
  const int planes = weights ? shape.bins : squares ? 2 : 1;
  const std::size_t shared = std::size_t (grids.most_columns) * planes
                             * (sizeof (std::uint64_t) + (weights ? sizeof (std::uint32_t) : 0));
  for (int first = 0; first < grids.n; first += kMaxAtOnce) {
    const dim3 blocks (unsigned (grids.most_rows),
                       unsigned (std::min (kMaxAtOnce, grids.n - first)));
    const CellsOnDevice *const from = grids.grids + first;
    if (grids.most_rows == 0 || grids.most_columns == 0)
      continue;
    if (weights)
      add_up_weights<<<blocks, kThreads, shared, stream>>> (values, planes, from);
    else if (squares)
      add_up_values<2><<<blocks, kThreads, shared, stream>>> (values, from);
    else
      add_up_values<1><<<blocks, kThreads, shared, stream>>> (values, from);
    TRY_CODE (cudaGetLastError ());
  }
  return 0;
}

int count_windows (PixelPlane values, const Lut &lut, int bins, const Region *windows, int n,
                   std::uint32_t *counts, Stream stream)
{
  if (n == 0)
    return 0;
  TRY_CODE (cudaMemsetAsync (counts, 0, std::size_t (n) * bins * sizeof *counts, stream));
  count_pixels<<<dim3 (unsigned (n), kSlices), kThreads, 0, stream>>> (values, LutWords::of (lut),
                                                                       bins, windows, counts);
  return cudaGetLastError ();
}

}  // namespace inthist::cuda
