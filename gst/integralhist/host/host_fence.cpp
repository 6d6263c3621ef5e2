// SPDX-License-Identifier: LGPL-2.1-or-later
#include "host_fence.hpp"

#include <algorithm>
#include <utility>

namespace integralhist {

std::chrono::nanoseconds duration_of (GstClockTime timeout)
{
  return std::chrono::nanoseconds (std::min<GstClockTime> (timeout, G_MAXINT64 / 4));
}

tl::unexpected<Error> not_ready ()
{
  return error (Error::Kind::timeout, "the integral histogram is not ready yet: wait longer");
}

void HostFence::reset ()
{
  const std::lock_guard lock (mutex_);
  done_ = false;
  outcome_ = {};
}

void HostFence::signal (const Expected<> &outcome)
{
  const std::lock_guard lock (mutex_);
  if (std::exchange (done_, true))
    return;
  outcome_ = outcome;
  changed_.notify_all ();
}

Expected<> HostFence::wait (GstClockTime timeout)
{
  std::unique_lock lock (mutex_);
  const auto done = [this] { return done_; };
  if (timeout == GST_CLOCK_TIME_NONE)
    changed_.wait (lock, done);
  else if (!changed_.wait_for (lock, duration_of (timeout), done))
    return not_ready ();
  return outcome_;
}

}  // namespace integralhist
