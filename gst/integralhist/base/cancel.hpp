// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How an element ends the waits and computations of its threads, after a flush or a stop. The
// element's CancelSource has one flag. A CancelScope passes this flag to all functions that a
// thread calls: engines, pools, allocations and, as Job::cancelled, the kernels. They have no
// parameter for it, because the functions of the C API cannot have one. A cancelled function
// returns an Error::Kind::flushing.
//
// Worker threads are not cancelled: an object ends its own thread in its destructor (`stopping_`).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "error.hpp"

namespace integralhist {

/// Why an element's threads are cancelled: two reasons, which any thread may set. The flag is set
/// while at least one of them is.
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

/// Lets a flag cancel the work of this thread while this object lives. If scopes are nested, only
/// the innermost has an effect.
class CancelScope {
public:
  explicit CancelScope (const std::atomic<bool> &flag);
  ~CancelScope ();
  CancelScope (const CancelScope &) = delete;
  CancelScope &operator= (const CancelScope &) = delete;

  /// Returns this thread's flag, or null.
  static const std::atomic<bool> *flag ();
  static bool is_cancelled () { return flag () && flag ()->load (std::memory_order_relaxed); }
  /// Returns an error of Error::Kind::flushing if this thread is cancelled.
  static Expected<> check ();

  /// Waits until `is_over ()`, or until this thread is cancelled.
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

}  // namespace integralhist
