// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The costs of answers, to choose the cheapest way: nanoseconds. Only their ratios matter.
#pragma once

#include <kernels/query.hpp>

namespace integralhist {

struct AnswerCost {
  /// This cost stands for work that a device never does.
  static constexpr double kNever = -1;

  double pixel,  // to count a pixel of a window, on one core
      window,    // for each window that is counted, in addition to its pixels
      bin,       // for each bin of a window that is counted
      lookup,    // to read one bin of a window from a computed tensor
      element,   // to compute an element of a tensor
      tensor,    // to start a tensor
      at_once;   // share of the whole tensor's cost; above it, compute the whole tensor at once

  double of_tensor (const inthist::Region &box, int bins) const
  {
    return tensor + element * box.width * box.height * bins;
  }
};

/// Measured with two cores of an AMD EPYC (Zen 4), 2026-11-25.
/// tests/benchmarks/probes/answer_costs.cpp measures these costs again, except for `bin` and
/// `lookup`. These two, and the cost of a small window, are estimates.
inline constexpr AnswerCost kCpuCost = { .pixel = 0.6,
                                         .window = 20,
                                         .bin = 0.3,
                                         .lookup = 2,
                                         .element = 0.19,
                                         .tensor = 14000,
                                         .at_once = 1 };

/// The costs of a GPU, which counts no pixels. On an H100 1920x1080x32 takes 90 us, and a small
/// tensor 10. The calling thread waits for a box, but not for a whole tensor that was computed in
/// advance.
inline constexpr AnswerCost kGpuCost = { .pixel = AnswerCost::kNever,
                                         .window = 0,
                                         .bin = 0,
                                         .lookup = 0,
                                         .element = 0.0012,
                                         .tensor = 10000,
                                         .at_once = 0.45 };

}  // namespace integralhist
