// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What answers cost on the CPU, to choose the cheapest way: nanoseconds of two cores of an AMD EPYC
// (Zen 4), 2026-11-25. Only their ratios matter. tests/benchmarks/probes/answer_costs.cpp measures
// them again.
#pragma once

#include <kernels/query.hpp>

namespace integralhist {

struct AnswerCost {
  static constexpr double kPixel = 0.28,  // to count a pixel of a window, on one core
      kWindow = 270,                      // for each window that is counted, besides its pixels
      kElement = 0.19,                    // to compute an element of a tensor
      kTensor = 14000;                    // to start the threads for a tensor

  static double of_tensor (const inthist::Region &box, int bins)
  {
    return kTensor + kElement * box.width * box.height * bins;
  }
};

}  // namespace integralhist
