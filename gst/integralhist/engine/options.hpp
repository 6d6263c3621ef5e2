// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The options of an engine: the values of an element's properties.
#pragma once

#include <functional>

#include <gst/integralhist/base/error.hpp>
#include <gst/integralhist/memory/host_memory.hpp>

namespace integralhist {

enum class Download { lazy, eager, never };

/// When tensors are computed: as frames come (`eager`), when a consumer asks (`on_demand`), or as
/// suits what consumers ask for (`automatic`; with a GPU, frames in host memory are eager).
enum class Compute { automatic, eager, on_demand };

struct Options {
  /// The algorithm that computes tensors. If null, it is the fastest that is measured in
  /// `tuning_time` ms, or the built-in one if `tuning_time` is 0.
  const Strategy *strategy = nullptr;
  unsigned tuning_time = 0;
  unsigned async_depth = 3, max_tensors = 0;
  guint64 max_device_memory = 0;  // most bytes to use on each device; 0: all free memory
  int task_bins = 0;              // most bins computed at a time; 0: chosen for the devices
  Download download = Download::lazy;
  Compute compute = Compute::eager;
  // Called once if a failure ends the engine, possibly from a thread of the engine.
  std::function<void (const Error &)> on_failure = {};
  // Called once for a frame that has waited a second for a tensor, with the number in use.
  std::function<void (unsigned most)> on_long_wait = {};
  bool waits_for_tensors = true;  // if false, a frame without a free tensor fails
};

}  // namespace integralhist
