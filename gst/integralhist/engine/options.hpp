// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How an engine computes: the values of an element's properties.
#pragma once

#include <functional>

#include <gst/integralhist/base/error.hpp>
#include <gst/integralhist/memory/host_memory.hpp>

namespace integralhist {

enum class Download { lazy, eager, never };

/// When tensors are computed: at once (`eager`) or when a consumer asks (`on_demand`). `automatic`
/// chooses, by whether consumers ask for (nearly) all; on a GPU it computes frames in host memory
/// at once.
enum class Compute { automatic, eager, on_demand };

struct Options {
  const inthist::Strategy *strategy = nullptr;  // null: the built-in choice, or the fastest one
  unsigned tuning_time = 0;                     // to find the fastest, in ms; 0: do not measure
  unsigned async_depth = 3, max_tensors = 0;
  guint64 max_device_memory = 0;  // at most, on each device; 0: all free memory
  int task_bins = 0;              // most bins in a task; 0: as suits the devices
  Download download = Download::lazy;
  Compute compute = Compute::eager;
  // The engine calls this once if a failure ends it, possibly from its own thread.
  std::function<void (const Error &)> failed = {};
  // Called once for a frame that has waited a second for a tensor, with the most that may exist.
  std::function<void (unsigned most)> still_waiting = {};
  bool waits_for_tensors = true;  // if false, frames beyond max_tensors fail with no_memory
};

}  // namespace integralhist
