// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A fence of work on the host.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

/// Returns the timeout, limited so that adding it to a time does not overflow.
std::chrono::nanoseconds duration_of (GstClockTime timeout);
/// Returns the error of a wait that has reached its timeout.
tl::unexpected<Error> not_ready ();

class HostFence {
public:
  /// Begins work.
  void reset ();
  /// Ends all waits with the outcome of the work. Only the first outcome counts.
  void signal (const Expected<> &outcome);
  /// Waits at most `timeout` nanoseconds, and returns the outcome.
  Expected<> wait (GstClockTime timeout);

private:
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  bool done_ = false;
  Expected<> outcome_;
};

}  // namespace integralhist
