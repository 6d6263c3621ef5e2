// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Computes a likelihood map of a tensor in tiles, of windows that begin at neighbouring pixels.
// It chains windows as likelihood_map.cuh does, but a thread has four columns of windows, whose
// elements share loads (device/tiles/quads.cuh): six for four elements, not six for each. The
// quads of the windows' last columns are aligned. The columns before the windows' first columns
// need not be aligned: a lane has an aligned quad of these columns, and takes the others from the
// next lane, so that the last lane of a row has no windows. Rows of lanes that lie below each other
// meet the same tiles in L1.
#pragma once

#include <type_traits>

#include "chains.cuh"
#include "device/tiles/quads.cuh"

namespace inthist::cuda {

// Lanes of a row. Other values of this constant and of the constants below were not measured. With
// these values, maps of 64x64 windows take 0.95 to 1.3 times as long as with u32 at 1920x1080x32
// (H100, docs/measurements/2026-11-25-tiles.md).
constexpr int kRowLanes = 16;
constexpr int kQuadThreads = 128;
// The most blocks with which no register spills on sm_90.
template <bool kWide, class AnyQuery>
constexpr int kQuadBlocks = !kWide && std::is_same_v<AnyQuery, WholeQuery> ? 5 : 4;
static_assert (kRowLanes <= 32 && kQuadThreads % kRowLanes == 0);

/// How quads lie relative to the windows of a map.
struct QuadColumns {
  int right = 0;   // first column of the first quad of last columns
  int before = 0;  // columns of that quad that belong to no window
  int left = 0;    // first column of the first quad before windows: -4, or 0 or more
  int shift = 0;   // how far right of `left` the columns before the windows begin
  int n = 0;       // quads
  INTHIST_HOST_DEVICE int lanes () const { return kRowLanes - (shift > 0 ? 1 : 0); }
};

inline QuadColumns quad_columns (const Grid &grid)
{
  const int last = grid.x + grid.window_width - 1, before = last % kQuad;
  const int shift = (kQuad - grid.window_width % kQuad) % kQuad;
  return { last - before, before, last - before - grid.window_width - shift, shift,
           divide_up (grid.columns + before, kQuad) };
}

/// The windows of a lane: kQuad columns of a chain.
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
      y[k] = row_above (grid, tensor.shape, row (k));
      keep_[k] = y[k] < 0 ? 0 : ~0u;
      right_[k] = { unsigned (tensor.layout.row_pitch), max (y[k], 0), right };
      left_[k] = { unsigned (tensor.layout.row_pitch), max (y[k], 0), max (left, 0) };
    }
    for (int k = 0; k < kChain; k++)
      for (int e = 0; e < kQuad; e++)
        sums_[k][e] = sum_for<kMeasure> (std::uint64_t (grid.window_width) * (y[k + 1] - y[k]));
  }

  __device__ void run (const float *model)
  {
    for_each_window ([&] (std::size_t at, MeasureSum<kMeasure> &sum) { resume (query_, at, sum); });
    const std::uint8_t *plane = tensor_.bytes;
    for (int b = 0; b < tensor_.shape.bins; b++, plane += tensor_.layout.plane_pitch)
      add_bin (plane, query_.bin_of (b), model[b]);
    for_each_window ([&] (std::size_t at, MeasureSum<kMeasure> &sum) {
      finish (tensor_.shape, query_, at, sum,
              [&] (float value) { static_cast<float *> (query_.answers)[at] = value; });
    });
  }

private:
  /// Returns the map's row in which the k-th windows lie.
  __device__ std::int64_t row (int k) const { return first_row_ + std::int64_t (k) * apart_; }

  /// Calls `body` with the windows' places in the map, and their sums.
  template <class Body>
  __device__ void for_each_window (Body body)
  {
    const Grid &grid = query_.windows.grid;
#pragma unroll
    for (int k = 0; k < kChain; k++)
#pragma unroll
      for (int e = 0; e < kQuad; e++)
        if (has_windows_ && row (k) < grid.rows && column_ + e >= 0 && column_ + e < grid.columns)
          body (std::size_t (row (k)) * grid.columns + column_ + e, sums_[k][e]);
  }

  __device__ void add_bin (const std::uint8_t *plane, int bin, float q)
  {
    Quad rows[kChain + 1];  // counts of the windows in the row and all rows above
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

  /// Returns the elements before the windows' first columns, from the lanes' aligned quads.
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
  std::uint32_t keep_left_, keep_[kChain + 1];  // masks of elements that are not struck out
  MeasureSum<kMeasure> sums_[kChain][kQuad];
};

template <Measure kMeasure, bool kWide, class AnyQuery>
__global__ void __launch_bounds__ (kQuadThreads, kQuadBlocks<kWide, AnyQuery>)
map_quads (TensorInTiles tensor, AnyQuery query, QuadColumns columns, Chains chains)
{
  __shared__ float model[256];
  for (int b = threadIdx.x; b < tensor.shape.bins; b += kQuadThreads)
    model[b] = query.models[b];
  __syncthreads ();
  const int lane = threadIdx.x % kRowLanes,
            i = blockIdx.y * (kQuadThreads / kRowLanes) + threadIdx.x / kRowLanes;
  // lanes without windows load quads for other lanes
  QuadChain<kMeasure, kWide, AnyQuery> (tensor, query, columns,
                                        blockIdx.x * columns.lanes () + lane,
                                        first_row_of (min (i, chains.n - 1), chains.apart),
                                        chains.apart, lane < columns.lanes () && i < chains.n)
      .run (model);
}

/// Returns false, with nothing done, if the windows do not begin at neighbouring pixels or leave
/// the frame.
template <Measure kMeasure, class AnyQuery>
bool try_launch_quads (const TensorInTiles &tensor, const AnyQuery &query, const Chains &chains,
                       Stream stream)
{
  const Grid &grid = query.windows.grid;
  if (tensor.layout.plane_pitch > 0xffffffff || grid.step_x != 1 || grid.x < 0
      || std::int64_t (grid.x) + grid.columns - 1 + grid.window_width > tensor.shape.width)
    return false;
  const QuadColumns columns = quad_columns (grid);
  const dim3 blocks (divide_up (columns.n, columns.lanes ()),
                     divide_up (chains.n, kQuadThreads / kRowLanes));
  if (blocks.y > 65535)  // a grid has no more
    return false;
  const auto kernel = tensor.tiles.wide ? map_quads<kMeasure, true, AnyQuery>
                                        : map_quads<kMeasure, false, AnyQuery>;
  kernel<<<blocks, kQuadThreads, 0, stream>>> (tensor, query, columns, chains);
  return true;
}

}  // namespace inthist::cuda
