// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The best of a query's answers. One block finds it:
//
//   scan     a thread's best of every kThreads-th window
//   reduce   the best of a warp's lanes, and then of the warps
//   store    its value and its index
//
// kThreads and kLoads were not measured against others. On an H200 a map of 577x417 windows takes
// 18.7 us, and 43.9 with its best (docs/measurements/2026-11-22-questions.md).
#pragma once

#include "../../../window.hpp"
#include "../hardware/warp.cuh"

namespace inthist::cuda {

class FindBest {
public:
  static constexpr int kThreads = 1024;

  struct Shared {
    RankedWindow bests[kThreads / kWarp];
  };

  __device__ FindBest (const Query &query, Shared &shared)
      : query_ (query), shared_ (shared), values_ (static_cast<const float *> (query.answers)),
        n_ (query.windows.size ())
  {
  }

  __device__ void run ()
  {
    const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
    const RankedWindow of_warp = reduce (scan ());
    if (lane == 0)
      shared_.bests[warp] = of_warp;
    __syncthreads ();
    if (warp > 0)
      return;
    const RankedWindow best = reduce (shared_.bests[lane]);
    if (lane == 0)
      store (best);
  }

private:
  static constexpr int kLoads = 16;  // loads of a thread, all in flight
  static_assert (kThreads == kWarp * kWarp, "a lane has a warp's best");

  __device__ RankedWindow scan () const
  {
    const bool similarity = is_similarity (query_.measure);
    const int own = min (int (threadIdx.x), n_ - 1);
    RankedWindow best = ranked (query_, own, values_[own]);
    for (int first = threadIdx.x; first < n_; first += kThreads * kLoads) {
      float value[kLoads];
#pragma unroll
      for (int k = 0; k < kLoads; k++)
        value[k] = values_[min (first + k * kThreads, n_ - 1)];
      // the place of a window matters only among equals
      for (int k = 0; k < kLoads; k++)
        if ((similarity ? -value[k] : value[k]) <= best.cost) {
          const RankedWindow other = ranked (query_, min (first + k * kThreads, n_ - 1), value[k]);
          best = other < best ? other : best;
        }
    }
    return best;
  }

  /// Leaves the warp's best in lane 0.
  __device__ static RankedWindow reduce (RankedWindow best)
  {
    for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
      const RankedWindow other = { __shfl_down_sync (~0u, best.cost, lanes),
                                   __shfl_down_sync (~0u, best.index, lanes),
                                   __shfl_down_sync (~0u, best.from_middle, lanes) };
      best = other < best ? other : best;
    }
    return best;
  }

  __device__ void store (const RankedWindow &best) const
  {
    *query_.best = { values_[best.index], best.index };
  }

  const Query &query_;
  Shared &shared_;
  const float *const values_;
  const int n_;
};

}  // namespace inthist::cuda
