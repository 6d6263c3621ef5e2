// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Computes a likelihood map from a tensor in tiles, for windows that begin at neighbouring pixels.
// A thread compares four columns of windows, each a chain (chains.cuh). At the windows' last
// columns, the integral histogram is loaded as a quad (device/tiles/quads.cuh): four neighbouring
// elements of an aligned first column. Before the windows, columns need not be aligned: a lane
// loads a quad and gets missing elements from the next lane, so a row's last lane has no windows.
#pragma once

#include <optional>

#include "chains.cuh"
#include "device/queries/best_window.cuh"
#include "device/tiles/quads.cuh"

namespace inthist::cuda {

constexpr int kChain = 2;  // windows of a chain
// How many lanes form a row of a block, how many threads a block has, and the blocks of a
// multiprocessor. On an H200 with 32 bins, windows of 64x64 and chi-square-alt, 64 threads and 8
// blocks take 34.4 us at 640x480; 128 threads and 5 blocks take 43.7
// (docs/measurements/2026-11-29-maps.md). Other rows were not measured.
constexpr int kRowLanes = 16;
constexpr int kQuadThreads = 64, kQuadBlocks = 8;
static_assert (kRowLanes <= 32 && kQuadThreads % kRowLanes == 0);

/// The columns of the integral histogram at which the quads (quads.cuh) of a likelihood map begin.
struct QuadColumns {
  int right = 0;   // column of the first quad that has the last column of a window
  int before = 0;  // columns in the quad at `right` before the first window's last column
  int left = 0;    // column of the first quad before the windows: -4, or 0 or more
  int shift = 0;   // distance from `left` to the column before the windows, 0 to 3
  int n = 0;       // number of quads in a row
  HOST_DEVICE int lanes () const { return kRowLanes - (shift > 0 ? 1 : 0); }
};

inline QuadColumns quad_columns (const Grid &grid)
{
  const int last = grid.x + grid.window_width - 1, before = last % kQuad;
  const int shift = (kQuad - grid.window_width % kQuad) % kQuad;
  return { last - before, before, last - before - grid.window_width - shift, shift,
           divide_up (grid.columns + before, kQuad) };
}

/// The windows that a lane compares: kQuad neighbouring columns of chains of kChain windows each.
template <Measure kMeasure, bool kWide, class AnyQuery>
class QuadChain {
public:
  __device__ QuadChain (const TensorInTiles &tensor, const AnyQuery &query,
                        const QuadColumns &columns, int quad, int first_row, int apart,
                        bool has_windows)
      : tensor_ (tensor), query_ (query), shift_ (columns.shift), first_row_ (first_row),
        apart_ (apart), column_ (quad * kQuad - columns.before), has_windows_ (has_windows)
  {
    const Grid &grid = query.windows.grid;
    const int right = columns.right + min (quad, columns.n - 1) * kQuad,
              left = columns.left + min (quad, columns.n) * kQuad;
    keep_left_ = left < 0 ? 0 : ~0u;
    int y[kChain + 1];
    for (int k = 0; k <= kChain; k++) {
      y[k] = edge_at (grid.y, grid.step_y, row (k), 0, tensor.shape.height);
      keep_[k] = y[k] < 0 ? 0 : ~0u;
      right_[k] = { unsigned (tensor.layout.row_pitch), max (y[k], 0), right };
      left_[k] = { unsigned (tensor.layout.row_pitch), max (y[k], 0), max (left, 0) };
    }
    for (int k = 0; k < kChain; k++)
      for (int e = 0; e < kQuad; e++)
        sums_[k][e] = sum_for<kMeasure> (std::uint64_t (grid.window_width) * (y[k + 1] - y[k]));
  }

  __device__ void run (const float *model, BestWindow<AnyQuery> &best)
  {
    for_each_window ([&] (int at, MeasureSum<kMeasure> &sum) { resume (query_, at, sum); });
    const std::uint8_t *plane = tensor_.bytes;
    for (int b = 0; b < tensor_.shape.bins; b++, plane += tensor_.layout.plane_pitch)
      add_bin (plane, query_.bin_of (b), model[b]);
    for_each_window ([&] (int at, MeasureSum<kMeasure> &sum) {
      finish (tensor_.shape, query_, at, sum, [&] (float value) {
        static_cast<float *> (query_.answers)[at] = value;
        best.add (at, value);
      });
    });
  }

private:
  /// Returns the row of the likelihood map that has window k of the lane's chains (chains.cuh).
  __device__ std::int64_t row (int k) const { return first_row_ + std::int64_t (k) * apart_; }

  /// Calls body (index in the map, sum of the measure) for each of the lane's windows in the map.
  template <class Body>
  __device__ void for_each_window (Body body)
  {
    const Grid &grid = query_.windows.grid;
#pragma unroll
    for (int k = 0; k < kChain; k++)
#pragma unroll
      for (int e = 0; e < kQuad; e++)
        if (has_windows_ && row (k) < grid.rows && column_ + e >= 0 && column_ + e < grid.columns)
          body (int (row (k) * grid.columns) + column_ + e, sums_[k][e]);
  }

  __device__ void add_bin (const std::uint8_t *plane, int bin, float q)
  {
    // the pixels in the windows' columns, from the frame's first row down to each edge of the chain
    Quad rows[kChain + 1];
#pragma unroll
    for (int k = 0; k <= kChain; k++) {
      const Quad right = right_[k].load (plane), left = before_windows (left_[k].load (plane));
#pragma unroll
      for (int e = 0; e < kQuad; e++)
        rows[k].at[e] = (right.at[e] - left.at[e]) & keep_[k];
    }
#pragma unroll
    for (int k = 0; k < kChain; k++)
#pragma unroll
      for (int e = 0; e < kQuad; e++)
        sums_[k][e].add (bin, rows[k + 1].at[e] - rows[k].at[e], q);
  }

  /// Returns the integral histogram in the columns before the windows, which need not be aligned,
  /// from the aligned quads (four neighbouring elements) of this lane and the next.
  __device__ Quad before_windows (Quad left) const
  {
    for (std::uint32_t &h : left.at)
      h &= keep_left_;
    const auto next = [] (std::uint32_t h) { return __shfl_down_sync (~0u, h, 1, kRowLanes); };
    const auto &[a, b, c, d] = left.at;
    if (shift_ & 2)
      left = { { c, d, next (a), next (b) } };
    if (shift_ & 1)
      left = { { b, c, d, next (a) } };
    return left;
  }

  const TensorInTiles &tensor_;
  const AnyQuery &query_;
  const int shift_;
  const int first_row_, apart_;  // of the map
  const int column_;             // of the first window
  const bool has_windows_;
  QuadPlace<kWide> right_[kChain + 1], left_[kChain + 1];
  std::uint32_t keep_left_, keep_[kChain + 1];  // masks, which are 0 for elements before the frame
  MeasureSum<kMeasure> sums_[kChain][kQuad];
};

template <Measure kMeasure, bool kWide, class AnyQuery>
__global__ void __launch_bounds__ (kQuadThreads, kQuadBlocks)
map_quads (TensorInTiles tensor, AnyQuery query, QuadColumns columns, Chains chains)
{
  __shared__ float model[256];
  __shared__ typename BestWindow<AnyQuery>::Shared bests;
  for (int b = threadIdx.x; b < tensor.shape.bins; b += kQuadThreads)
    model[b] = query.models[b];
  __syncthreads ();
  const int lane = threadIdx.x % kRowLanes,
            i = blockIdx.y * (kQuadThreads / kRowLanes) + threadIdx.x / kRowLanes;
  BestWindow<AnyQuery> best (query);
  // lanes without windows also run, because the lanes before them need the elements that they load
  QuadChain<kMeasure, kWide, AnyQuery> (tensor, query, columns,
                                        blockIdx.x * columns.lanes () + lane,
                                        first_window<kChain> (min (i, chains.n - 1), chains.apart),
                                        chains.apart, lane < columns.lanes () && i < chains.n)
      .run (model, best);
  best.publish (bests);
}

/// Launches the kernel for a likelihood map of a tensor in tiles, or returns false if windows do
/// not begin at neighbouring pixels, form no chains (chains.cuh), or leave the frame.
template <Measure kMeasure, class AnyQuery>
bool try_launch_quads (const TensorInTiles &tensor, const AnyQuery &query, Stream stream)
{
  const Grid &grid = query.windows.grid;
  const std::optional<Chains> chains =
      chains_along (grid.rows, grid.window_height, grid.step_y, kChain);
  if (!chains || grid.step_x != 1 || grid.x < 0
      || std::int64_t (grid.x) + grid.columns - 1 + grid.window_width > tensor.shape.width)
    return false;
  const QuadColumns columns = quad_columns (grid);
  const dim3 blocks (divide_up (columns.n, columns.lanes ()),
                     divide_up (chains->n, kQuadThreads / kRowLanes));
  if (blocks.y > 65535)  // CUDA's limit for the blocks of a grid in y
    return false;
  const auto kernel = tensor.tiles.wide ? map_quads<kMeasure, true, AnyQuery>
                                        : map_quads<kMeasure, false, AnyQuery>;
  launch_after_clear (query, tensor.shape, kernel, blocks, kQuadThreads, stream, tensor, query,
                      columns, *chains);
  return true;
}

}  // namespace inthist::cuda
