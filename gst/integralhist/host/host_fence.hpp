// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A fence for work on the host: other threads wait until the work is done.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

/// Returns the timeout as a duration, limited so that adding it to a time does not overflow.
std::chrono::nanoseconds duration_of (GstClockTime timeout);
/// Returns the Error::Kind::timeout of a wait for a tensor.
tl::unexpected<Error> not_ready ();

class HostFence {
public:
  /// Begins work.
  void reset ();
  /// Notes that the work is done, with this outcome, and wakes all waiting threads. Only the first
  /// call has an effect.
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
