// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What answers cost on the CPU, to choose the cheapest way: nanoseconds of two cores of an AMD EPYC
// (Zen 4), 2026-11-25. Only their ratios matter. tests/benchmarks/probes/answer_costs.cpp measures
// them again.
#pragma once

#include <kernels/query.hpp>

namespace integralhist {

struct AnswerCost {
  static constexpr double kPixel = 0.28,  // of a window that is counted, on one core
      kWindow = 270,                      // of one, for its values to become bins
      kElement = 0.19,                    // of a tensor that is computed
      kTensor = 14000;                    // of one, for threads to start

  static double of_tensor (const inthist::Region &box, int bins)
  {
    return kTensor + kElement * box.width * box.height * bins;
  }
};

}  // namespace integralhist
