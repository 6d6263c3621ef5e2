// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How an element ends the waits and computations of its threads, after a flush or a stop. The
// element's CancelSource has one flag. A CancelScope makes it the calling thread's flag, which
// engines, pools, allocations and, as Job::cancelled, kernels read: functions of the C API cannot
// have a parameter for it. A cancelled function returns an Error::Kind::flushing.
//
// Worker threads are not cancelled: an object ends its own thread in its destructor (`stopping_`).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "error.hpp"

namespace integralhist {

/// The flag that cancels the work of an element's threads. It is set while the element is flushing
/// or stopping; any thread may set these two reasons.
class CancelSource {
public:
  void set_flushing (bool value) { set (flushing_, value); }
  void set_stopping (bool value) { set (stopping_, value); }
  const std::atomic<bool> &flag () const { return flag_; }

private:
  void set (bool &reason, bool value)
  {
    const std::lock_guard lock (mutex_);
    reason = value;
    flag_ = flushing_ || stopping_;
  }

  std::atomic<bool> flag_ = false;
  std::mutex mutex_;  // guards all below
  bool flushing_ = false, stopping_ = false;
};

/// Lets a flag cancel the work of the calling thread while the CancelScope lives. If scopes are
/// nested, only the innermost has an effect.
class CancelScope {
public:
  explicit CancelScope (const std::atomic<bool> &flag);
  ~CancelScope ();
  CancelScope (const CancelScope &) = delete;
  CancelScope &operator= (const CancelScope &) = delete;

  /// Returns the flag that cancels the calling thread, or null.
  static const std::atomic<bool> *flag ();
  static bool is_cancelled () { return flag () && flag ()->load (std::memory_order_relaxed); }
  /// Returns an Error::Kind::flushing if the calling thread is cancelled.
  static Expected<> check ();

  /// Waits until the function `is_over` returns true, or the calling thread is cancelled.
  template <class IsOver>
  static Expected<> wait (std::condition_variable &changed, std::unique_lock<std::mutex> &lock,
                          IsOver &&is_over)
  {
    while (!is_over ()) {
      TRY (check ());
      changed.wait_for (lock, std::chrono::milliseconds (20));
    }
    return {};
  }

private:
  const std::atomic<bool> *const outer_;
};

/// A mutex that a thread may hold during a long computation, because a CancelScope ends the wait of
/// the others.
class CancellableMutex {
public:
  using Lock = std::unique_lock<CancellableMutex>;

  Expected<Lock> lock ()
  {
    std::unique_lock lock (mutex_);
    TRY (CancelScope::wait (changed_, lock, [this] { return !is_held_; }));
    is_held_ = true;
    return Lock (*this, std::adopt_lock);
  }
  void unlock ()
  {
    const std::lock_guard lock (mutex_);
    is_held_ = false;
    changed_.notify_one ();
  }

private:
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  bool is_held_ = false;
};

}  // namespace integralhist
