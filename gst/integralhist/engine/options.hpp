// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How an engine computes: the values of an element's properties.
#pragma once

#include <functional>

#include <gst/integralhist/base/error.hpp>
#include <gst/integralhist/memory/host_memory.hpp>

namespace integralhist {

enum class Download { lazy, eager, never };

/// When tensors are computed. `automatic` computes when a consumer asks, or at once while consumers
/// keep asking for (nearly) all; on a GPU it computes frames in host memory at once.
enum class Compute { automatic, eager, on_demand };

struct Options {
  const inthist::Strategy *strategy = nullptr;  // null for the built-in choice, or for the fastest
  unsigned tuning_time = 0;                     // milliseconds to measure which is; 0: not at all
  unsigned async_depth = 3, max_tensors = 0;
  guint64 max_device_memory = 0;  // bytes of a device; 0 for all free memory
  int task_bins = 0;              // most bins of a task; 0 for what suits the devices
  Download download = Download::lazy;
  Compute compute = Compute::eager;
  // Called once if a failure ends the engine, possibly from the engine's own thread.
  std::function<void (const Error &)> failed = {};
  // Called once for a frame that has waited a second for a tensor, with the most that may exist.
  std::function<void (unsigned most)> still_waiting = {};
  bool waits_for_tensors = true;  // at max_tensors; if false, a frame then fails with no_memory
};

}  // namespace integralhist
