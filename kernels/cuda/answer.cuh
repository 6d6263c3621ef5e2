// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Kernels that answer queries of a tensor in rows or in tiles. The kind of the query (query.hpp)
// tells how its windows are divided among blocks and threads:
//
//   counts, sums  a block for each window, a thread for each bin, with four loads (more if a window
//                 is cut into parts, see region.hpp). In tiles, a warp for 16 bins (window.cuh)
//   totals        a thread for each window, or for each patch of a window
//   likelihoods   a warp for each window, a lane for each bin; bins are added in ascending order.
//                 Maps of windows that share edges have a faster kernel (likelihood_map.cuh)
//   quantiles     a thread for each window, which runs through the bins
//   votes         a block for up to kVoteWindows windows (fewer if their votes do not fit in shared
//                 memory), a thread for each patch; neighbouring threads have neighbouring windows
//
// Kernels of likelihoods and votes also find the best window (device/queries/best_window.cuh).
#pragma once

#include <algorithm>
#include <cuda_runtime.h>
#include <type_traits>

#include "../window.hpp"
#include "device/hardware/warp.cuh"
#include "device/tiles/window.cuh"
#include "likelihood_map.cuh"

namespace inthist::cuda {

// The most windows that a block of the votes kernel compares: u32 elements of eight neighbouring
// windows fill a sector of 32 bytes. This number and this file's block sizes were not tuned.
constexpr int kVoteWindows = 8;
// The shared memory for votes: what every GPU gives a block, less that of the best-window search.
constexpr std::size_t kVotesBytes = (48 << 10) - sizeof (BestWindow<Query>::Shared);
static_assert (kMaxPatches * sizeof (float) <= kVotesBytes);
constexpr int kAnswerThreads = 128;  // threads of a block for totals, quantiles or likelihoods
// The block size for which the likelihoods kernel is compiled. A bound of 128 saves registers on
// sm_90, but a Query that may carry data would spill registers. This was not timed.
template <class AnyQuery>
constexpr int kLikelihoodBound = std::is_same_v<AnyQuery, WholeQuery> ? kAnswerThreads : 1024;

template <class Sum, class Tensor>
__global__ void count_windows_kernel (Tensor tensor, Query query)
{
  const Shape &shape = tensor.shape;
  const Region window = window_of (query.windows, blockIdx.x, shape);
  Sum *const sums = static_cast<Sum *> (query.answers) + std::size_t (blockIdx.x) * shape.bins;
  tensor.with_planes ([&] (const auto &plane) {
    for (int b = threadIdx.x; b < shape.bins; b += blockDim.x)
      sums[b] = sum_region<Sum> (plane (b), window, exact_pixels (shape, b));
  });
}

template <class Sum>
__global__ void count_windows_in_tiles_kernel (TensorInTiles tensor, Query query)
{
  const int bins = tensor.shape.bins, lane = threadIdx.x % kWarp;
  const TiledWindow window (tensor, window_of (query.windows, blockIdx.x, tensor.shape));
  Sum *const sums = static_cast<Sum *> (query.answers) + std::size_t (blockIdx.x) * bins;
  for (int first = threadIdx.x / kWarp * kBinsOfWarp; first < bins;
       first += blockDim.x / kWarp * kBinsOfWarp) {
    const int n = min (kBinsOfWarp, bins - first);
    const std::uint32_t sum = window.count (first, n);
    if (lane < n)
      sums[first + lane] = sum;
  }
}

/// Computes each window's sum of weights. Tensors of weights are in rows, and never in tiles.
template <class Tensor>
__global__ void totals_kernel (Tensor tensor, Query query)
{
  const std::size_t i = std::size_t (blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < query.n_totals ())
    tensor.with_planes ([&] (const auto &plane) {
      static_cast<std::uint64_t *> (query.answers)[i] =
          total_in (tensor.shape, plane, region_of_total (query, i, tensor.shape));
    });
}

template <class Tensor, class AnyQuery>
__global__ void quantiles_kernel (Tensor tensor, AnyQuery query)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < query.windows.size ())
    tensor.with_planes ([&] (const auto &plane) { quantile (tensor.shape, plane, query, i); });
}

/// Calls `body` with a function that counts the pixels (or weights) of a window. A warp calls this
/// function with the number `first` of a bin, and lane i gets the count of bin first + i.
template <class Tensor, class Body>
__device__ void with_lanes_counts (const Tensor &tensor, const Region &window, Body body)
{
  if constexpr (std::is_same_v<Tensor, TensorInTiles>) {
    const TiledWindow places (tensor, window);
    body ([&] (int first) { return places.count (first, min (kWarp, tensor.shape.bins - first)); });
  } else {
    const Shape &shape = tensor.shape;
    tensor.with_planes ([&] (const auto &plane) {
      body ([&] (int first) {
        const int own = min (first + int (threadIdx.x % kWarp), shape.bins - 1);
        return amount_in (shape, plane, own, window);
      });
    });
  }
}

/// Returns the divisor of window i's histogram (divisor_of () in window.hpp) to all lanes of a
/// warp. If the divisor is a sum of weights over all bins, each lane adds up some of the bins.
template <class Tensor, class AnyQuery>
__device__ std::uint64_t divisor_in_warp (const Tensor &tensor, const AnyQuery &query,
                                          std::size_t i, const Region &window)
{
  const Shape &shape = tensor.shape;
  if constexpr (std::is_same_v<Tensor, TensorInRows>)
    if (shape.content == Content::weights) {
      if (brings_totals (shape, query))
        return query.totals[i];
      unsigned long long total = 0;  // a type that shuffles take
      tensor.with_planes ([&] (const auto &plane) {
        total = total_in (shape, plane, window, int (threadIdx.x % kWarp), kWarp);
      });
      for (int step = kWarp / 2; step > 0; step /= 2)
        total += shuffle_xor (total, step);
      return total;
    }
  return pixels_of (window);
}

template <Measure kMeasure, class Tensor, class AnyQuery>
__device__ void compare_window_in_warp (const Tensor &tensor, const AnyQuery &query, int i,
                                        BestWindow<AnyQuery> &best)
{
  const Shape &shape = tensor.shape;
  const int lane = threadIdx.x % kWarp;
  const Region window = window_of (query.windows, i, shape);
  auto sum = sum_for<kMeasure> (divisor_in_warp (tensor, query, i, window));
  resume (query, i, sum);
  with_lanes_counts (tensor, window, [&] (const auto &count) {
    for (int first = 0; first < shape.bins; first += kWarp) {
      const int own = min (first + lane, shape.bins - 1), n = min (kWarp, shape.bins - first);
      const auto pixels = count (first);
      const float p = sum.normaliser () * float (pixels), q = query.models[own];
      for (int b = 0; b < n; b++)
        sum.add_share (query.bin_of (first + b), __shfl_sync (~0u, p, b), __shfl_sync (~0u, q, b));
      if constexpr (counts_pixels (kMeasure))
        sum.count (warp_sum (lane < n ? std::uint32_t (pixels) : 0));
    }
  });
  if (lane == 0)
    finish (shape, query, i, sum, [&] (float value) {
      static_cast<float *> (query.answers)[i] = value;
      best.add (i, value);
    });
}

template <Measure kMeasure, class Tensor, class AnyQuery>
__global__ void __launch_bounds__ (kLikelihoodBound<AnyQuery>)
likelihoods_kernel (Tensor tensor, AnyQuery query)
{
  const int i = blockIdx.x * (blockDim.x / kWarp) + threadIdx.x / kWarp;
  __shared__ typename BestWindow<AnyQuery>::Shared bests;
  BestWindow<AnyQuery> best (query);
  if (i < query.windows.size ())
    compare_window_in_warp<kMeasure> (tensor, query, i, best);
  best.publish (bests);
}

/// Compares a window with a model in one thread, bin after bin; i numbers this comparison in the
/// query. Calls `store` with the result, unless more bins of the frame follow in another tensor.
template <Measure kMeasure, class PlaneAccessor, class AnyQuery, class Store>
__device__ void compare_window (const Shape &shape, const PlaneAccessor &plane,
                                const AnyQuery &query, std::size_t i, const Region &window,
                                const float *model, Store &&store)
{
  auto sum = sum_for<kMeasure> (divisor_of (shape, plane, query, i, window));
  resume (query, i, sum);
  const auto add_bins = [&] (auto zero) {
    for (int b = 0; b < shape.bins; b++)
      sum.add (query.bin_of (b),
               sum_region<decltype (zero)> (plane (b), window, exact_pixels (shape, b)), model[b]);
  };
  if (shape.content == Content::weights)
    add_bins (std::uint64_t ());
  else
    add_bins (std::uint32_t ());
  finish (shape, query, i, sum, store);
}

/// Tells whether vote i is the rank-th best (0: the best) of a window's n votes, where votes (k) is
/// vote k. The first of equal votes counts as better.
template <class Votes>
__device__ bool has_rank (int rank, int i, int n, bool similarity, const Votes &votes)
{
  const float own = votes (i);
  int better = 0;
  for (int k = 0; k < n; k++) {
    const float other = votes (k);
    better += other == own ? k < i : (other > own) == similarity;
  }
  return better == rank;
}

template <Measure kMeasure, class Tensor, class AnyQuery>
__global__ void votes_kernel (Tensor tensor, AnyQuery query, int run)
{
  const Shape &shape = tensor.shape;
  extern __shared__ float cast[];  // [patch][window]
  const int first = blockIdx.x * run, patches = query.n_patches;
  tensor.with_planes ([&] (const auto &plane) {
    for (int i = threadIdx.x; i < run * patches; i += blockDim.x) {
      const int p = i / run, window = first + i % run;
      if (window < query.windows.size ())
        compare_window<kMeasure> (
            shape, plane, query, std::size_t (p) * query.windows.size () + window,
            patch_at (corner_of (query.windows, window), query.patches[p], shape),
            query.models + std::size_t (p) * shape.bins, [&] (float value) { cast[i] = value; });
    }
  });
  if (query.has_bins_after (shape))
    return;
  __syncthreads ();
  __shared__ typename BestWindow<AnyQuery>::Shared bests;
  BestWindow<AnyQuery> best (query);
  for (int i = threadIdx.x; i < run * patches; i += blockDim.x) {
    const int p = i / run, window = first + i % run;
    const auto vote = [&] (int k) { return cast[k * run + i % run]; };
    if (window < query.windows.size ()
        && has_rank (query.rank, p, patches, is_similarity (kMeasure), vote)) {
      static_cast<float *> (query.answers)[window] = cast[i];
      best.add (window, cast[i]);
    }
  }
  best.publish (bests);
}

template <class Sum, class Tensor>
void launch_count_windows (const Tensor &tensor, const Query &query, Stream stream)
{
  if constexpr (std::is_same_v<Tensor, TensorInTiles>) {
    const int warps = std::min (divide_up (tensor.shape.bins, kBinsOfWarp), 8);
    count_windows_in_tiles_kernel<Sum>
        <<<query.windows.size (), warps * kWarp, 0, stream>>> (tensor, query);
  } else {
    const int threads = std::min (round_up (tensor.shape.bins, kWarp), 256);
    count_windows_kernel<Sum><<<query.windows.size (), threads, 0, stream>>> (tensor, query);
  }
}

template <class Tensor>
void launch_totals (const Tensor &tensor, const Query &query, Stream stream)
{
  if constexpr (std::is_same_v<Tensor, TensorInRows>) {
    const std::size_t threads = kAnswerThreads;
    totals_kernel<<<unsigned (divide_up (query.n_totals (), threads)), kAnswerThreads, 0,
                    stream>>> (tensor, query);
  }
}

/// Launches the kernels for likelihoods, votes or quantiles. They are compiled twice: a Query may
/// carry data between groups of bins, which takes more registers than a WholeQuery.
template <class Tensor, class AnyQuery>
void launch_comparison (const Tensor &tensor, const AnyQuery &query, Stream stream)
{
  const int n = query.windows.size ();
  switch (query.kind) {
    case QueryKind::quantiles:
      quantiles_kernel<<<divide_up (n, kAnswerThreads), kAnswerThreads, 0, stream>>> (tensor,
                                                                                      query);
      break;
    case QueryKind::likelihoods:
      with_measure (query.measure, [&] (auto measure) {
        if (!try_launch_map<measure.value> (tensor, query, stream))
          likelihoods_kernel<measure.value>
              <<<divide_up (n, kAnswerThreads / kWarp), kAnswerThreads, 0, stream>>> (tensor,
                                                                                      query);
      });
      break;
    case QueryKind::votes:
      with_measure (query.measure, [&] (auto measure) {
        int run = kVoteWindows;
        while (run * query.n_patches * sizeof (float) > kVotesBytes)
          run /= 2;
        const int tasks = run * query.n_patches;
        votes_kernel<measure.value><<<divide_up (n, run), std::min (round_up (tasks, kWarp), 512),
                                      tasks * sizeof (float), stream>>> (tensor, query, run);
      });
      break;
    case QueryKind::counts:
    case QueryKind::sums:
    case QueryKind::totals: break;  // launch_answer () has other kernels for these
  }
}

template <class Tensor>
void launch_answer (const Tensor &tensor, const Query &query, Stream stream)
{
  if (query.kind == QueryKind::counts)
    launch_count_windows<std::uint32_t> (tensor, query, stream);
  else if (query.kind == QueryKind::sums)
    launch_count_windows<std::uint64_t> (tensor, query, stream);
  else if (query.kind == QueryKind::totals)
    launch_totals (tensor, query, stream);
  else if (query.has_bins_before () || query.has_bins_after (tensor.shape))
    launch_comparison (tensor, query, stream);
  else
    launch_comparison (tensor, whole (query), stream);
}

// answer_tiles.cu compiles the kernels for tensors in tiles, in parallel with those for rows.
extern template void launch_answer (const TensorInTiles &, const Query &, Stream);

}  // namespace inthist::cuda
