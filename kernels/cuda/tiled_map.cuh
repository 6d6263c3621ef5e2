// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Computes a likelihood map of a tensor in tiles, of windows that begin at neighbouring pixels. A
// thread compares four columns of chains of windows (chains.cuh). H at their last columns is a quad
// (device/tiles/quads.cuh): four neighbouring elements, of an aligned first column, for which six
// loads suffice. H before their first columns need not be aligned. A lane loads an aligned quad of
// these columns and gets the others from the next lane. So the last lane of a row has no windows.
// Rows of lanes below each other find the same tiles in L1.
#pragma once

#include <type_traits>

#include "chains.cuh"
#include "device/queries/best_window.cuh"
#include "device/tiles/quads.cuh"

namespace inthist::cuda {

constexpr int kChain = 2;  // windows of a chain
// Other numbers of lanes in a row were not measured. On an H200, 32 bins, windows of 64x64,
// chi-square-alt, blocks of 64 threads, 8 a multiprocessor, take 34.4 us at 640x480 and 149.4 at
// 1920x1080; 128 threads and 5 blocks take 43.7 and 161.9 (docs/measurements/2026-11-29-maps.md).
constexpr int kRowLanes = 16;
constexpr int kQuadThreads = 64, kQuadBlocks = 8;
static_assert (kRowLanes <= 32 && kQuadThreads % kRowLanes == 0);

/// The columns of H at which the quads (device/tiles/quads.cuh) of a map begin.
struct QuadColumns {
  int right = 0;   // first column of the first quad at the windows' last columns
  int before = 0;  // columns in the quad at `right` that are not the last column of a window
  int left = 0;    // column of the first quad before the windows: -4, or 0 or more
  int shift = 0;   // column before the first window, less `left`
  int n = 0;       // number of quads in a row
  INTHIST_HOST_DEVICE int lanes () const { return kRowLanes - (shift > 0 ? 1 : 0); }
};

inline QuadColumns quad_columns (const Grid &grid)
{
  const int last = grid.x + grid.window_width - 1, before = last % kQuad;
  const int shift = (kQuad - grid.window_width % kQuad) % kQuad;
  return { last - before, before, last - before - grid.window_width - shift, shift,
           divide_up (grid.columns + before, kQuad) };
}

/// The windows of a lane: kQuad neighbouring columns of windows, each with a chain of kChain
/// windows.
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
  /// Returns the row of the map for window k of each chain (chains.cuh: windows that each begin
  /// where the one before ends).
  __device__ std::int64_t row (int k) const { return first_row_ + std::int64_t (k) * apart_; }

  /// Calls `body` for each window of the lane, with its index in the map and its sum.
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
    Quad rows[kChain + 1];  // counts of pixels in the windows' columns, in this row of H and all
                            // rows above
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

  /// Returns H in the columns before the windows, given the lane's aligned quad and those of the
  /// next lanes.
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
  std::uint32_t keep_left_, keep_[kChain + 1];  // masks: 0 for elements before the frame
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
  // lanes without windows also run, because other lanes need their quads
  QuadChain<kMeasure, kWide, AnyQuery> (tensor, query, columns,
                                        blockIdx.x * columns.lanes () + lane,
                                        first_window<kChain> (min (i, chains.n - 1), chains.apart),
                                        chains.apart, lane < columns.lanes () && i < chains.n)
      .run (model, best);
  best.publish (bests);
}

/// Launches the kernel. Does nothing and returns false if the windows do not begin at neighbouring
/// pixels, cannot be chained, or leave the frame.
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
