// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The costs, in nanoseconds, of the ways to answer a query: from the pixels of a frame, or from a
// computed tensor. They serve to choose the cheapest way, so only their ratios matter.
#pragma once

#include <kernels/query.hpp>

namespace integralhist {

struct AnswerCost {
  /// The cost of work that a device never does, such as counting pixels on a GPU.
  static constexpr double kNever = -1;

  double pixel,            // cost to count one pixel of a window, on one CPU core
      window,              // cost of each window that is counted, besides its pixels
      bin,                 // cost of each bin of a window that is counted
      lookup,              // cost to read one bin of a window from a computed tensor
      element,             // cost to compute one element of a tensor
      tensor,              // cost to start the computation of a tensor
      max_share_of_whole;  // of a tensor's cost; above it, computing the whole at once is better

  double of_tensor (const inthist::Region &region, int bins) const
  {
    return tensor + element * region.width * region.height * bins;
  }
};

/// The costs of a CPU, measured with tests/benchmarks/probes/answer_costs.cpp on two cores of an
/// AMD EPYC (Zen 4). `bin`, `lookup` and the cost of a small window are estimates.
inline constexpr AnswerCost kCpuCost = { .pixel = 0.6,
                                         .window = 20,
                                         .bin = 0.3,
                                         .lookup = 2,
                                         .element = 0.19,
                                         .tensor = 14000,
                                         .max_share_of_whole = 1 };

/// The costs of a GPU, which counts no pixels. On an H100, a tensor of 1920x1080x32 takes 90 us, a
/// small one 10 us. A thread waits for a region's tensor, but not for one computed in advance.
inline constexpr AnswerCost kGpuCost = { .pixel = AnswerCost::kNever,
                                         .window = 0,
                                         .bin = 0,
                                         .lookup = 0,
                                         .element = 0.0012,
                                         .tensor = 10000,
                                         .max_share_of_whole = 0.45 };

}  // namespace integralhist
