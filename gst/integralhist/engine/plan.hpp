// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The strategy that an engine runs, and who chose it.
#pragma once

#include <string>

#include <gst/integralhist/base/error.hpp>
#include <kernels/tuner.hpp>

namespace integralhist {

struct Plan {
  inthist::Choice choice;
  const char *origin = "none";  // "set", "measured" or "default"
  std::string description;      // the origin with figures, for the log
};

/// Returns `set` with its defaults unless it is null. Otherwise returns the built-in choice, or, if
/// `milliseconds` is not 0, the strategy that tune () finds in about that time. `tensor` is device
/// memory for a tensor, which measuring overwrites. One caller measures at a time. The error is
/// `failed` if no strategy takes the shape, and `flushing` soon after `cancelled` is set.
Expected<Plan> plan_for (inthist::Device device, const inthist::Shape &shape,
                         const inthist::Strategy *set, unsigned milliseconds, int slots,
                         void *tensor, const std::atomic<bool> *cancelled);

}  // namespace integralhist
