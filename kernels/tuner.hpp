// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Chooses a strategy (algorithm), a tile size and a block size for a shape: the built-in choice, or
// the fastest one that is measured on this very device. Dang, Yan and Wu 2014 searched for the
// parameters of one algorithm; here all strategies take part.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "expected.hpp"
#include "inthist.hpp"

namespace inthist {

struct Choice {
  const Strategy *strategy = nullptr;
  Tuning tuning = {};
  double seconds = 0;  // measured seconds for a frame, or 0
};

/// Returns the strategies that a device has for a shape, each with all values of its parameters.
/// The default comes first. Strategies that are marked as slow are left out.
std::vector<Choice> candidates (Device device, const Shape &shape);
Choice default_choice (Device device, const Shape &shape);

struct Untuned {
  std::string why;
  bool cancelled = false;
};

/// Measures all candidates () for about `budget` seconds, and returns the fastest; but the default
/// unless another is faster by a twentieth in each of two rounds or more, so that neither noise nor
/// load unseats it. Keeps `slots` frames in flight, on CUDA each on its own stream; all write to
/// `tensor`, in memory of `device`. Allocates workspaces. Skips candidates that fail, for example
/// for lack of memory, and fails if none runs. When the time is up or `cancelled` is set, a CPU
/// strategy stops within milliseconds; frames that were launched on CUDA run to their end.
Expected<Choice, Untuned> tune (Device device, const Shape &shape, const Layout &layout,
                                void *tensor, double budget, int slots,
                                const std::atomic<bool> *cancelled = nullptr);

}  // namespace inthist
