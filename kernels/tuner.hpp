// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Chooses a strategy, a tile and a block size for a shape: the built-in choice, or the fastest that
// is measured on this very device. Dang, Yan and Wu 2014 searched for the parameters of their
// algorithm; here every strategy takes part.
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
  double seconds = 0;  // per frame, as measured; 0 if not measured
};

/// Lists the strategies of a device for the shape, each with all values of its parameters. The
/// default comes first, and strategies that are `slow` are left out.
std::vector<Choice> candidates (Device device, const Shape &shape);
Choice default_choice (Device device, const Shape &shape);

struct Untuned {
  std::string why;
  bool cancelled = false;
};

/// Measures the candidates for about `budget` seconds, with `slots` frames in flight; on CUDA each
/// has its own stream. All candidates write to `tensor`, in memory of the device (of the current
/// CUDA context). Allocates workspaces and waits for the device. Skips candidates that fail, for
/// example because of memory. Fails if no candidate could be measured. A CPU strategy is cut off
/// when the time is up. On CUDA it waits for frames that were launched. Once `cancelled` is set, it
/// returns within a few milliseconds, except for a frame on CUDA. Returns the default unless
/// another candidate is faster by a twentieth in each of two rounds or more, so that neither noise
/// nor load unseats the default.
Expected<Choice, Untuned> tune (Device device, const Shape &shape, const Layout &layout,
                                void *tensor, double budget, int slots,
                                const std::atomic<bool> *cancelled = nullptr);

}  // namespace inthist
