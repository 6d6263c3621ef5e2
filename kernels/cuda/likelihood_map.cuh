// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Computes a likelihood map at the speed of memory. A thread has a column of kChain windows, each
// of which begins where the one above it ends, so they share rows of H: kChain + 1 rows instead of
// 2 kChain. Both neighbours want only a row's difference of two elements, at the window's last
// column and before its first; a window's count is the difference of two such differences.
// Neighbouring threads have neighbouring windows: loads coalesce, and the second of a row hits L1.
// So a plane's rows are fetched one and a half times, not four times.
#pragma once

#include <algorithm>
#include <type_traits>

#include "../window.hpp"

namespace inthist::cuda {

// Windows of a thread, and bins in flight. On an H200, 640x480x32, 64x64, they took chi-square-alt
// from 38.4 us to 28.9, and intersection from 25.5 to 17.4, together
// (docs/measurements/2026-11-22-questions.md). That page has no other values of theirs.
constexpr int kChain = 2, kAhead = 2;

/// A plane's elements of a chain: in each row the last ones in the windows and before them.
struct ChainElements {
  std::uint32_t in[kChain + 1], before[kChain + 1];
};

/// Computes the i-th chain, whose windows lie `apart` rows of the map from each other. Loads depend
/// only on where the windows lie, and run kAhead bins ahead of the measure.
template <Measure kMeasure, class PlaneAccessor, class AnyQuery>
__device__ void map_chain (const Shape &shape, const PlaneAccessor &plane, const AnyQuery &query,
                           int i, int apart, const float *model)
{
  const Grid &grid = query.windows.grid;
  const int column = i % grid.columns, chain = i / grid.columns;
  const int first_row = chain / apart * kChain * apart + chain % apart;
  if (first_row >= grid.rows)
    return;

  // elements left of the frame and above it are zero: load the first instead, and strike it out
  const std::int64_t left = grid.x + std::int64_t (column) * grid.step_x;
  const int x0 = between (-1, left - 1, shape.width - 1),
            x1 = between (-1, left + grid.window_width - 1, shape.width - 1);
  const std::uint32_t keep_before = x0 < 0 ? 0 : ~0u;
  int y[kChain + 1];
  std::uint32_t keep[kChain + 1];
  for (int k = 0; k <= kChain; k++) {
    y[k] = between (-1, grid.y + (first_row + std::int64_t (k) * apart) * grid.step_y - 1,
                    shape.height - 1);
    keep[k] = y[k] < 0 ? 0 : ~0u;
  }
  const auto load = [&] (int b) {
    const auto at = plane (min (b, shape.bins - 1));
    ChainElements elements;
#pragma unroll
    for (int k = 0; k <= kChain; k++) {
      elements.in[k] = at (max (y[k], 0), max (x1, 0));
      elements.before[k] = at (max (y[k], 0), max (x0, 0));
    }
    return elements;
  };

  float weight[kChain];
  MeasureSum<kMeasure> sums[kChain];
  for (int k = 0; k < kChain; k++) {
    weight[k] = weight_of (x1 - x0, y[k + 1] - y[k]);
    sums[k] = { query.bins_of (shape), weight[k] == 0 };
    if (const std::int64_t row = first_row + std::int64_t (k) * apart; row < grid.rows)
      resume (query, row * grid.columns + column, sums[k]);
  }
  const std::uint32_t modulus = shape.counter == Type::u16 ? 0xffff : ~0u;
  ChainElements ahead[kAhead];
  for (int a = 0; a < kAhead; a++)
    ahead[a] = load (a);
  for (int first = 0; first < shape.bins; first += kAhead)
#pragma unroll
    for (int a = 0; a < kAhead; a++) {
      std::uint32_t row[kChain + 1];
#pragma unroll
      for (int k = 0; k <= kChain; k++)
        row[k] = (ahead[a].in[k] - (ahead[a].before[k] & keep_before)) & keep[k];
      ahead[a] = load (first + a + kAhead);
      if (first + a < shape.bins)
#pragma unroll
        for (int k = 0; k < kChain; k++)
          sums[k].add (weight[k] * float ((row[k + 1] - row[k]) & modulus), model[first + a]);
    }
  for (int k = 0; k < kChain; k++)
    if (const std::int64_t row = first_row + std::int64_t (k) * apart; row < grid.rows)
      finish (shape, query, row * grid.columns + column, sums[k], [&] (float value) {
        static_cast<float *> (query.answers)[row * grid.columns + column] = value;
      });
}

// With 8 blocks an SM, so at most 64 registers, correlation, emd and kolmogorov-smirnov take 17 us
// (docs/measurements/2026-11-22-questions.md) instead of 24, the others what they took. Carrying
// has 6 blocks, so 80 registers, with which nine of ten kernels spill none on sm_90. That was not
// timed, and kMapThreads was not measured against others.
constexpr int kMapThreads = 128;
template <class AnyQuery>
constexpr int kMapBlocks = std::is_same_v<AnyQuery, WholeQuery> ? 8 : 6;

template <Measure kMeasure, class AnyQuery>
__global__ void __launch_bounds__ (kMapThreads, kMapBlocks<AnyQuery>)
map_chains (const std::uint8_t *tensor, Shape shape, Layout layout, Anchors anchors, AnyQuery query,
            int n, int apart)
{
  __shared__ float model[256];
  for (int b = threadIdx.x; b < shape.bins; b += kMapThreads)
    model[b] = MeasureSum<kMeasure>::prepared (query.models[b]);
  __syncthreads ();
  const int i = blockIdx.x * kMapThreads + threadIdx.x;
  if (i < n)
    with_planes (shape, layout, tensor, anchors, [&] (const auto &plane) {
      map_chain<kMeasure> (shape, plane, query, i, apart, model);
    });
}

/// Returns false, with nothing done, if the windows cannot be chained or their counts overflow.
template <Measure kMeasure, class AnyQuery>
bool try_launch_map (const Shape &shape, const Layout &layout, const std::uint8_t *tensor,
                     const AnyQuery &query, Stream stream)
{
  const Grid &grid = query.windows.grid;
  if (query.windows.list || grid.step_y < 1 || grid.window_height % grid.step_y != 0
      || std::int64_t (grid.window_width) * grid.window_height > exact_pixels (shape, 0))
    return false;
  const int apart = grid.window_height / grid.step_y;
  // sets of `apart` chains; the last set may lie partly below the map
  const std::int64_t rows_per_set = std::int64_t (apart) * kChain,
                     sets = divide_up<std::int64_t> (grid.rows, rows_per_set);
  const std::int64_t n =
      (sets - 1) * apart + std::min<std::int64_t> (apart, grid.rows - (sets - 1) * rows_per_set);
  if (n * grid.columns > 0x7fffffff)
    return false;
  const int chains = int (n * grid.columns);
  map_chains<kMeasure><<<divide_up (chains, kMapThreads), kMapThreads, 0, stream>>> (
      tensor, shape, layout, anchors_of (shape), query, chains, apart);
  return true;
}

}  // namespace inthist::cuda
