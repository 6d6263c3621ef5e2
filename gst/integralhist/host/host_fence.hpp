// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A fence for work on the CPU: threads wait until another thread says that the work is done.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

/// Returns a timeout as a duration, limited so that adding it to a time does not overflow.
std::chrono::nanoseconds duration_of (GstClockTime timeout);
/// Returns the error for a tensor that was not computed within the timeout of a wait.
tl::unexpected<Error> not_ready ();

class HostFence {
public:
  /// Begins new work, for which wait () will wait.
  void reset ();
  /// Ends the work and wakes all waiting threads. Only the first call since reset () counts.
  void signal (const Expected<> &outcome);
  /// Returns the outcome of the work. After `timeout` nanoseconds, returns an Error::Kind::timeout.
  Expected<> wait (GstClockTime timeout);

private:
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  bool done_ = false;
  Expected<> outcome_;
};

}  // namespace integralhist
