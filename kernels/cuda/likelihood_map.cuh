// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A likelihood map at the speed of memory. A thread has a column of kChain windows, each of which begins where the one above it ends, so that they share the rows of H between them: kChain + 1
// rows instead of 2 kChain. The difference of a row's two elements, at the window's last column and before its first, is all that either neighbour wants of it; a window's count is the difference of
// two such differences. Threads side by side have windows side by side: loads coalesce, and the second one of a row finds in L1 what a neighbour has loaded. A tensor is so read once, and half of
// it again, instead of four times.
#pragma once

#include "../window.hpp"

namespace inthist::cuda {

constexpr int kChain = 4;

/// The element before the first is zero.
template <class Plane>
__device__ std::uint32_t
element_or_zero (const Plane &at, int y, int x)
{
  return x < 0 ? 0 : at (y, x);
}

/// `apart` rows of the map lie between windows of a chain.
template <Measure kMeasure, class Planes>
__device__ void
map_chain (const Shape &shape, const Planes &plane, const Query &query, int apart, const float *model)
{
  const Grid &grid = query.windows.grid;
  const int column = blockIdx.x * blockDim.x + threadIdx.x, chain = blockIdx.y;
  const int first_row = chain / apart * (apart * kChain) + chain % apart;
  if (column >= grid.columns)
    return;

  const std::int64_t left = grid.x + std::int64_t (column) * grid.step_x;
  const int x0 = between (-1, left - 1, shape.width - 1), x1 = between (-1, left + grid.window_width - 1, shape.width - 1);
  int y[kChain + 1];
  for (int k = 0; k <= kChain; k++)
    y[k] = between (-1, grid.y + (first_row + std::int64_t (k) * apart) * grid.step_y - 1, shape.height - 1);

  MeasureSum<kMeasure> sums[kChain] = { { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 } };
  float share[kChain];
  for (int k = 0; k < kChain; k++) {
    share[k] = share_of (x1 - x0, y[k + 1] - y[k]);
    sums[k] = { shape.bins, share[k] == 0 };
  }
#pragma unroll 2
  for (int b = 0; b < shape.bins; b++) {
    const auto at = plane (b);
    std::uint32_t row[kChain + 1];
    for (int k = 0; k <= kChain; k++)
      row[k] = y[k] < 0 ? 0 : element_or_zero (at, y[k], x1) - element_or_zero (at, y[k], x0);
    for (int k = 0; k < kChain; k++) {
      const std::uint32_t most = shape.counter == Type::u16 ? 0xffff : 0xffffffff;
      sums[k].add (share[k] * float ((row[k + 1] - row[k]) & most), model[b]);
    }
  }
  for (int k = 0; k < kChain; k++)
    if (first_row + k * apart < grid.rows)
      static_cast<float *> (query.answers)[std::size_t (first_row + k * apart) * grid.columns + column] = sums[k].value ();
}

template <Measure kMeasure>
__global__ void
map_chains (const std::uint8_t *tensor, Shape shape, Layout layout, Anchors anchors, Query query, int apart)
{
  __shared__ float model[256];
  for (int b = threadIdx.x; b < shape.bins; b += blockDim.x)
    model[b] = MeasureSum<kMeasure>::ready (query.models[b]);
  __syncthreads ();
  with_planes (shape, layout, tensor, anchors, [&] (const auto &plane) { map_chain<kMeasure> (shape, plane, query, apart, model); });
}

/// False, and nothing done, where the windows cannot be chained or their counts overflow.
template <Measure kMeasure>
bool
likelihood_map (const Shape &shape, const Layout &layout, const std::uint8_t *tensor, const Query &query, Stream stream)
{
  const Grid &grid = query.windows.grid;
  if (query.windows.list || grid.step_y < 1 || grid.window_height % grid.step_y != 0
      || std::int64_t (grid.window_width) * grid.window_height > exact_pixels (shape, 0))
    return false;
  const int apart = grid.window_height / grid.step_y;
  const std::int64_t chains = (grid.rows - 1) / (std::int64_t (apart) * kChain) * apart + std::min (apart, grid.rows);
  constexpr int kThreads = 128;
  if (chains > 65535)
    return false;
  map_chains<kMeasure><<<dim3 ((grid.columns - 1) / kThreads + 1, unsigned (chains)), kThreads, 0, stream>>> (
      tensor, shape, layout, anchors_of (shape), query, apart);
  return true;
}

}  // namespace inthist::cuda
