// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The choice of a strategy, which is the algorithm that an engine computes tensors with.
#pragma once

#include <string>

#include <gst/integralhist/base/error.hpp>
#include <kernels/tuner.hpp>

namespace integralhist {

struct StrategyPlan {
  inthist::Choice choice;
  const char *origin = "none";  // "set", "measured" or "default"
  std::string description;      // who chose the strategy, with the time of measuring, for the log
};

/// Chooses a strategy for a shape: `set` if not null; the fastest that tune () finds in
/// `milliseconds` if not 0; or the built-in one. Measuring overwrites `tensor` on the device. The
/// error is `failed` if no strategy takes the shape, `flushing` soon after this thread is
/// cancelled.
Expected<StrategyPlan> choose_strategy (Device device, const Shape &shape, const Strategy *set,
                                        unsigned milliseconds, int slots, void *tensor);

}  // namespace integralhist
