// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sets the jobs' flag when the caller's flag is set or the time is up. A thread polls every few
// milliseconds. Without it a start under load took seconds, as a run that had begun in time was
// waited for: on two busy cores a frame of 1920x1080x32 takes `rows` 12 to 60 ms, but `wavefront`
// 400 to 1500, as each of its diagonals waits for threads that others keep from running.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "clock.hpp"

namespace inthist {

class Watchdog {
public:
  /// Returns null where no thread can be started.
  static std::unique_ptr<Watchdog> make (const std::atomic<bool> *cancelled);

  /// Allows so many seconds to what runs from now on.
  void allow (double seconds);

  const std::atomic<bool> *flag () const { return &stop_; }

  /// Stays true once it was, whatever becomes of the caller's flag.
  bool is_cancelled ();

private:
  explicit Watchdog (const std::atomic<bool> *cancelled);

  void watch (const std::stop_token &quit);

  const std::atomic<bool> *const theirs_;
  std::atomic<bool> stop_ = false, cancelled_ = false;
  std::mutex mutex_;  // guards all below
  std::condition_variable_any quitting_;
  Clock::time_point begun_;
  double limit_;
  std::jthread thread_;
};

}  // namespace inthist
