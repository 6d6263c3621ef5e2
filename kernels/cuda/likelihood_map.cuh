// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Computes a likelihood map at the speed of memory. A thread has a column of kChain windows, each
// of which begins where the one above it ends, so they share rows of H: kChain + 1 rows instead of
// 2 kChain. Two neighbours in a column need only the difference of two elements of a row: at the
// window's last column, and before the first column. A window's count is the difference of two such
// differences. Neighbouring threads have neighbouring windows: loads coalesce, and the second of a
// row hits L1. So the rows of a plane are fetched one and a half times, not four times.
#pragma once

#include <type_traits>

#include "tiled_map.cuh"

namespace inthist::cuda {

/// The elements of a plane for a chain: in each row, at the last column of the windows and before
/// the first column.
struct ChainElements {
  std::uint32_t in[kChain + 1], before[kChain + 1];
};

/// The i-th chain, whose windows lie `apart` rows of the map from each other.
template <Measure kMeasure, class PlaneAccessor, class AnyQuery>
class Chain {
public:
  __device__ Chain (const Shape &shape, const PlaneAccessor &plane, const AnyQuery &query, int i,
                    int apart)
      : shape_ (shape), plane_ (plane), query_ (query), grid_ (query.windows.grid),
        column_ (i % grid_.columns), apart_ (apart),
        first_row_ (first_row_of (i / grid_.columns, apart))
  {
  }

  __device__ void run (const float *model)
  {
    if (first_row_ >= grid_.rows)
      return;
    place ();
    start ();
    add_bins (model);
    for_each_window ([&] (int k, std::int64_t at) {
      finish (shape_, query_, at, sums_[k],
              [&] (float value) { static_cast<float *> (query_.answers)[at] = value; });
    });
  }

private:
  /// Calls `body` with the windows that lie in the map, and with their places there.
  template <class Body>
  __device__ void for_each_window (Body body)
  {
    for (int k = 0; k < kChain; k++)
      if (const std::int64_t row = first_row_ + std::int64_t (k) * apart_; row < grid_.rows)
        body (k, row * grid_.columns + column_);
  }

  /// Elements left of the frame and above it are zero: the first element is loaded instead, and
  /// masked out later.
  __device__ void place ()
  {
    const std::int64_t left = grid_.x + std::int64_t (column_) * grid_.step_x;
    x0_ = between (-1, left - 1, shape_.width - 1);
    x1_ = between (-1, left + grid_.window_width - 1, shape_.width - 1);
    keep_before_ = x0_ < 0 ? 0 : ~0u;
    for (int k = 0; k <= kChain; k++) {
      y_[k] = row_above (grid_, shape_, first_row_ + std::int64_t (k) * apart_);
      keep_[k] = y_[k] < 0 ? 0 : ~0u;
    }
  }

  __device__ void start ()
  {
    if (shape_.content == Content::weights)
      start_with_totals ();
    else
      for (int k = 0; k < kChain; k++)
        sums_[k] = sum_for<kMeasure> (std::uint64_t (x1_ - x0_) * (y_[k + 1] - y_[k]));
    for_each_window ([&] (int k, std::int64_t at) { resume (query_, at, sums_[k]); });
  }

  /// Totals of windows that are counted at once fit 32 bits.
  __device__ void start_with_totals ()
  {
    if (brings_totals (shape_, query_)) {
      for_each_window (
          [&] (int k, std::int64_t at) { sums_[k] = sum_for<kMeasure> (query_.totals[at]); });
      return;
    }
    std::uint32_t totals[kChain] = {};
    for (int b = 0; b < shape_.bins; b++) {
      const ChainElements elements = load (b);
#pragma unroll
      for (int k = 0; k < kChain; k++)
        totals[k] += row_of (elements, k + 1) - row_of (elements, k);
    }
    for (int k = 0; k < kChain; k++)  // windows left of the frame have read its first column
      sums_[k] = sum_for<kMeasure> (x1_ > x0_ ? totals[k] : 0);
  }

  /// Returns the counts of the windows in a row and all rows above.
  __device__ std::uint32_t row_of (const ChainElements &elements, int k) const
  {
    return (elements.in[k] - (elements.before[k] & keep_before_)) & keep_[k];
  }

  __device__ ChainElements load (int bin) const
  {
    const auto at = plane_ (min (bin, shape_.bins - 1));
    ChainElements elements;
#pragma unroll
    for (int k = 0; k <= kChain; k++) {
      elements.in[k] = at (max (y_[k], 0), max (x1_, 0));
      elements.before[k] = at (max (y_[k], 0), max (x0_, 0));
    }
    return elements;
  }

  static constexpr int kAhead =
      std::is_same_v<std::invoke_result_t<PlaneAccessor, int>, TiledElements> ? kBinsAheadInTiles
                                                                              : kBinsAhead;

  /// Adds all bins up. Loads depend only on where the windows lie, and run kAhead bins ahead.
  __device__ void add_bins (const float *model)
  {
    const std::uint32_t modulus = shape_.counter == Type::u16 ? 0xffff : ~0u;
    ChainElements ahead[kAhead];
    for (int a = 0; a < kAhead; a++)
      ahead[a] = load (a);
    for (int first = 0; first < shape_.bins; first += kAhead)
#pragma unroll
      for (int a = 0; a < kAhead; a++) {
        std::uint32_t row[kChain + 1];
#pragma unroll
        for (int k = 0; k <= kChain; k++)
          row[k] = row_of (ahead[a], k);
        ahead[a] = load (first + a + kAhead);
        if (first + a < shape_.bins)
#pragma unroll
          for (int k = 0; k < kChain; k++)
            sums_[k].add (query_.bin_of (first + a), (row[k + 1] - row[k]) & modulus,
                          model[first + a]);
      }
  }

  const Shape &shape_;
  const PlaneAccessor &plane_;
  const AnyQuery &query_;
  const Grid &grid_;
  const int column_, apart_, first_row_;  // of the map
  int x0_, x1_, y_[kChain + 1];           // elements before the windows, and the last ones in them
  std::uint32_t keep_before_, keep_[kChain + 1];  // masks of elements that are not struck out
  MeasureSum<kMeasure> sums_[kChain];
};

// With 8 blocks an SM, so at most 64 registers, correlation, emd and kolmogorov-smirnov take 17 us
// instead of 24, and the other measures take as long as before
// (docs/measurements/2026-11-22-questions.md). Kernels that carry have 6 blocks, so 80 registers,
// with which nine of ten kernels spill no registers on sm_90. The 6 blocks were not timed.
// kMapThreads, and the blocks for tiles (whose kernels spill nothing either), were not measured
// against others.
constexpr int kMapThreads = 128;
template <class Tensor, class AnyQuery>
constexpr int kMapBlocks = std::is_same_v<Tensor, TensorInTiles>  ? 4
                           : std::is_same_v<AnyQuery, WholeQuery> ? 8
                                                                  : 6;

template <Measure kMeasure, class Tensor, class AnyQuery>
__global__ void __launch_bounds__ (kMapThreads, kMapBlocks<Tensor, AnyQuery>)
map_chains (Tensor tensor, AnyQuery query, int n, int apart)
{
  const Shape &shape = tensor.shape;
  __shared__ float model[256];
  for (int b = threadIdx.x; b < shape.bins; b += kMapThreads)
    model[b] = query.models[b];
  __syncthreads ();
  const int i = blockIdx.x * kMapThreads + threadIdx.x;
  if (i < n)
    tensor.with_planes ([&] (const auto &plane) {
      Chain<kMeasure, std::decay_t<decltype (plane)>, AnyQuery> (shape, plane, query, i, apart)
          .run (model);
    });
}

/// Returns false, with nothing done, if the windows cannot be chained or their counts overflow.
template <Measure kMeasure, class Tensor, class AnyQuery>
bool try_launch_map (const Tensor &tensor, const AnyQuery &query, Stream stream)
{
  const std::optional<Chains> chains = chains_of (query.windows);
  const Grid &grid = query.windows.grid;
  if (!chains
      || std::int64_t (grid.window_width) * grid.window_height > exact_pixels (tensor.shape, 0))
    return false;
  if constexpr (std::is_same_v<Tensor, TensorInTiles>)
    if (try_launch_quads<kMeasure> (tensor, query, *chains, stream))
      return true;
  const std::int64_t n = std::int64_t (chains->n) * grid.columns;
  if (n > 0x7fffffff)
    return false;
  map_chains<kMeasure><<<divide_up (int (n), kMapThreads), kMapThreads, 0, stream>>> (
      tensor, query, int (n), chains->apart);
  return true;
}

}  // namespace inthist::cuda
