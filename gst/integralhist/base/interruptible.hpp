// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "error.hpp"

namespace integralhist {

/// Lets a flag end what this thread's questions compute, as long as this lives. Such a question
/// returns an Error::Kind::flushing soon after the flag is set. The inner of two counts.
class Interruptible {
public:
  explicit Interruptible (const std::atomic<bool> &flag);
  ~Interruptible ();
  Interruptible (const Interruptible &) = delete;
  Interruptible &operator= (const Interruptible &) = delete;

  /// Returns this thread's flag, or null.
  static const std::atomic<bool> *flag ();
  static bool is_interrupted () { return flag () && flag ()->load (std::memory_order_relaxed); }

  /// Waits until `is_over ()`; this thread's flag ends that, too.
  template <class IsOver>
  static Expected<> wait (std::condition_variable &changed, std::unique_lock<std::mutex> &lock,
                          IsOver &&is_over)
  {
    while (!changed.wait_for (lock, std::chrono::milliseconds (20), is_over))
      if (is_interrupted ())
        return error (Error::Kind::flushing, "flushing");
    return {};
  }

private:
  const std::atomic<bool> *const outer_;
};

}  // namespace integralhist
