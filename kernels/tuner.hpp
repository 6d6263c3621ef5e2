// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Finds the fastest strategy, tile and block size for a shape on this very device. Dang, Yan and Wu
// 2014 searched for the parameters of their algorithm; here every strategy takes part. Candidates
// run in the order of preference, again only while they may win, until the time is up.
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
  double seconds = 0;     // per frame, as measured; 0 if not measured
  bool complete = false;  // every candidate was measured, or shown to be hopeless
};

/// Lists a device's strategies for the shape, with each parameter, the default first; no slow ones.
std::vector<Choice> candidates (Device device, const Shape &shape);
Choice default_choice (Device device, const Shape &shape);

struct Untuned {
  std::string why;
  bool cancelled = false;
};

/// Finds the fastest candidate with `slots` frames in flight, on CUDA one a stream. All of them
/// write to `tensor`, in memory of the device (of the current CUDA context). Allocates workspaces
/// and waits for the device. Skips candidates that fail, for want of memory say; fails if all do.
/// Takes about `budget` seconds at most, on a busy machine too: cuts off what runs when the time is
/// up, and a candidate that takes much longer than the best so far. It waits only for the first run
/// of the first candidate and, on CUDA, for frames that have been launched. Once `cancelled` is
/// set, it returns within a few milliseconds, but for a frame on CUDA.
/// A winner other than the default must be faster by a twentieth each time that the two are
/// compared in turn, so that neither noise nor load unseats the default.
Expected<Choice, Untuned> tune (Device device, const Shape &shape, const Layout &layout,
                                void *tensor, double budget, int slots,
                                const std::atomic<bool> *cancelled = nullptr);

}  // namespace inthist
