// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What an engine's threads tell the application: the first failure, and waits for tensors that take
// long. Nothing is told after end (), which waits for what is being told.
#pragma once

#include <mutex>
#include <utility>

#include <gst/integralhist/engine/options.hpp>

namespace integralhist {

class Reports {
public:
  explicit Reports (const Options &options)
      : failed_ (options.failed), still_waiting_ (options.still_waiting)
  {
  }

  /// Reports the first failure. Returns whether it, or an earlier one, was reported.
  bool fail (const Error &failure)
  {
    const std::lock_guard lock (mutex_);
    if (!failed_)
      return false;
    if (!std::exchange (reported_, true)) {
      const auto failed = failed_;  // may be reset meanwhile
      failed (failure);
    }
    return true;
  }

  /// Warns of a frame that waits for one of at most so many tensors.
  void warn_of_wait (unsigned most)
  {
    const std::lock_guard lock (mutex_);
    if (const auto warn = still_waiting_)
      warn (most);
  }

  void end ()
  {
    const std::lock_guard lock (mutex_);
    failed_ = nullptr;
    still_waiting_ = nullptr;
  }

private:
  std::recursive_mutex mutex_;  // guards all below; the functions may stop the element, and so end
  std::function<void (const Error &)> failed_;
  std::function<void (unsigned)> still_waiting_;
  bool reported_ = false;
};

}  // namespace integralhist
