// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Finds the best window of a query, in the kernel that compares windows with a model:
//
//   add       a thread keeps the best of the windows that it compares
//   publish   a block finds the best window of all its threads, and writes it to the query's Best,
//             unless that has a better one, by a compare-and-swap of 8 bytes
//
// The order of windows is total (RankedWindow in window.hpp), so the result does not depend on
// which block comes first. clear_best () runs before the kernel.
#pragma once

#include "../../../window.hpp"
#include "../hardware/overlap.cuh"
#include "../hardware/warp.cuh"

namespace inthist::cuda {

constexpr Best kNoBest = { 0, -1 };

template <class AnyQuery>
class BestWindow {
public:
  static constexpr int kMaxWarps = 32;
  using Shared = Best[kMaxWarps];  // the best window of each warp

  __device__ explicit BestWindow (const AnyQuery &query) : query_ (query) {}

  __device__ void add (int window, float value)
  {
    if (query_.best && is_better ({ value, window }, best_))
      best_ = { value, window };
  }

  /// Publishes the block's best window. All threads of the block, in whole warps, call this once.
  __device__ void publish (Shared &of_warps)
  {
    if (!query_.best)
      return;
    const Best of_warp = best_of_warp ();
    if (threadIdx.x % kWarp == 0)
      of_warps[threadIdx.x / kWarp] = of_warp;
    __syncthreads ();
    if (threadIdx.x > 0)
      return;
    Best best = of_warp;
    for (unsigned warp = 1; warp < blockDim.x / kWarp; warp++)
      best = is_better (of_warps[warp], best) ? of_warps[warp] : best;
    if (best.index >= 0)
      exchange (best);
  }

private:
  __device__ float cost_of (const Best &best) const
  {
    return is_similarity (query_.measure) ? -best.value : best.value;
  }

  __device__ bool is_better (const Best &one, const Best &other) const
  {
    if (one.index < 0 || other.index < 0)
      return one.index >= 0;
    if (cost_of (one) != cost_of (other))
      return cost_of (one) < cost_of (other);
    return ranked (query_, one.index, one.value) < ranked (query_, other.index, other.value);
  }

  /// Returns the best window that the threads of the warp have compared, to all of these threads.
  __device__ Best best_of_warp () const
  {
    const std::uint32_t order = best_.index >= 0 ? order_of (cost_of (best_)) : ~0u;
    const std::uint32_t least = warp_min (order);
    std::uint32_t equals = __ballot_sync (~0u, best_.index >= 0 && order == least);
    Best best = kNoBest;
    for (; equals != 0; equals &= equals - 1) {  // usually one
      const int lane = __ffs (int (equals)) - 1;
      const Best other = { __shfl_sync (~0u, best_.value, lane),
                           __shfl_sync (~0u, best_.index, lane) };
      best = is_better (other, best) ? other : best;
    }
    return best;
  }

  /// Returns an integer that grows with the cost of a window, so that an integer minimum finds the
  /// least cost. NaN counts as the highest cost.
  __device__ static std::uint32_t order_of (float cost)
  {
    const std::uint32_t bits = __float_as_uint (cost + 0.0f);  // -0 becomes 0
    return isnan (cost) ? ~0u : bits >> 31 ? ~bits : bits | 0x80000000;
  }

  __device__ void exchange (const Best &best) const
  {
    static_assert (sizeof (Best) == sizeof (unsigned long long));
    wait_for_previous ();  // until clear_best () has run
    auto *const place = reinterpret_cast<unsigned long long *> (query_.best);
    unsigned long long there = *const_cast<volatile unsigned long long *> (place);
    while (is_better (best, best_in (there))) {
      const unsigned long long seen = atomicCAS (place, there, word_of (best));
      if (seen == there)
        return;
      there = seen;
    }
  }
  __device__ static Best best_in (unsigned long long word)
  {
    return { __uint_as_float (std::uint32_t (word)), int (word >> 32) };
  }
  __device__ static unsigned long long word_of (const Best &best)
  {
    return (unsigned long long) (unsigned (best.index)) << 32 | __float_as_uint (best.value);
  }

  const AnyQuery &query_;
  Best best_ = kNoBest;
};

/// Tells whether kernels find the best window: the query asks for it, with the frame's last bins.
template <class AnyQuery>
bool finds_best (const AnyQuery &query, const Shape &shape)
{
  return query.best && !query.has_bins_after (shape);
}

__global__ static void clear_best_kernel (Best *best)
{
  let_next_start ();
  *best = kNoBest;
}

template <class AnyQuery>
void clear_best (const AnyQuery &query, Stream stream)
{
  clear_best_kernel<<<1, 1, 0, stream>>> (query.best);
}

/// Launches a kernel that compares windows. If it finds the best window, clear_best () must have
/// been called just before: the kernel may start while that work runs, but not before.
template <class AnyQuery, class... Parameters, class... Arguments>
void launch_after_clear (const AnyQuery &query, const Shape &shape, void (*kernel) (Parameters...),
                         dim3 blocks, unsigned threads, Stream stream,
                         const Arguments &...arguments)
{
  if (finds_best (query, shape))
    (void) launch_overlapped (kernel, blocks, threads, 0, stream, arguments...);
  else
    kernel<<<blocks, threads, 0, stream>>> (arguments...);
}

}  // namespace inthist::cuda
