// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How an engine computes: what the properties of an element say.
#pragma once

#include <functional>

#include <gst/integralhist/base/error.hpp>
#include <gst/integralhist/memory/host_memory.hpp>

namespace integralhist {

enum class Download { lazy, eager, never };

/// When tensors are computed: `automatic` is when somebody asks, or at once while consumers keep
/// asking for (nearly) all. Frames in host memory are computed at once on a GPU.
enum class Compute { automatic, eager, on_demand };

struct Options {
  const inthist::Strategy *strategy = nullptr;  // null for the built-in choice, or the fastest
  unsigned tuning_time = 0;                     // milliseconds to measure which is; 0: not at all
  unsigned async_depth = 3, max_tensors = 0;
  guint64 max_device_memory = 0;  // bytes of a device; 0 for all free
  int task_bins = 0;              // most bins of a task; 0 for what suits the devices
  Download download = Download::lazy;
  Compute compute = Compute::eager;
  // Called once by an engine that a failure ends, maybe from its own thread.
  std::function<void (const Error &)> failed = {};
  // Called once for a frame that has waited a second for one of at most so many tensors.
  std::function<void (unsigned most)> still_waiting = {};
  bool waits_for_tensors = true;  // at max_tensors; else a frame is refused, as for want of memory
};

}  // namespace integralhist
