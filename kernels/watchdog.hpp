// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sets the jobs' flag when the caller's flag is set or the time is up. A thread polls every few
// milliseconds. Without it a start under load took seconds, as a run that had begun in time was
// waited for: on two busy cores a frame of 1920x1080x32 takes `rows` 12 to 60 ms, but `wavefront`
// 400 to 1500, as each of its diagonals waits for threads that others keep from running.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>

#include "clock.hpp"
#include "inthist.hpp"

namespace inthist {

class Watchdog {
public:
  /// Returns null where no thread can be started.
  static std::unique_ptr<Watchdog> make (const std::atomic<bool> *cancelled)
  {
    std::unique_ptr<Watchdog> made (new Watchdog (cancelled));
    try {
      made->thread_ = std::jthread (
          [watchdog = made.get ()] (std::stop_token quit) { watchdog->watch (quit); });
    } catch (const std::system_error &) {
      return nullptr;
    }
    return made;
  }

  /// Allows so many seconds to what runs from now on.
  void allow (double seconds)
  {
    const std::lock_guard lock (mutex_);
    begun_ = Clock::now ();
    limit_ = seconds;
    stop_ = is_cancelled ();
  }

  const std::atomic<bool> *flag () const { return &stop_; }

  /// Stays true once it was, whatever becomes of the caller's flag.
  bool is_cancelled ()
  {
    if (is_set (theirs_))
      cancelled_ = true;
    return cancelled_;
  }

private:
  static constexpr auto kPeriod = std::chrono::milliseconds (4);

  explicit Watchdog (const std::atomic<bool> *cancelled) : theirs_ (cancelled) { allow (kForEver); }

  void watch (const std::stop_token &quit)
  {
    std::unique_lock lock (mutex_);
    while (!quitting_.wait_for (lock, quit, kPeriod, [&] { return quit.stop_requested (); }))
      if (is_cancelled () || seconds_since (begun_) > limit_)
        stop_ = true;
  }

  const std::atomic<bool> *const theirs_;
  std::atomic<bool> stop_ = false, cancelled_ = false;
  std::mutex mutex_;  // guards all below
  std::condition_variable_any quitting_;
  Clock::time_point begun_;
  double limit_;
  std::jthread thread_;
};

}  // namespace inthist
