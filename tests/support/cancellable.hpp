// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <utility>

#include <gst/integralhist/base/cancel.hpp>

constexpr int kShortWait = 50, kLongWait = 20000;  // milliseconds

/// Work in a thread, which a flag can end.
template <class Outcome>
struct Cancellable {
  explicit Cancellable (std::function<Outcome ()> work)
      : thread ([this, work = std::move (work)] {
          const integralhist::CancelScope scope (cancelled);
          outcome = work ();
          done = true;
        })
  {
  }
  ~Cancellable () { thread.join (); }
  Cancellable (const Cancellable &) = delete;

  bool is_done_after (int milliseconds) const
  {
    for (int i = 0; i < milliseconds && !done; i++)
      g_usleep (1000);
    return done;
  }

  Outcome outcome;
  std::atomic<bool> cancelled = false, done = false;
  std::thread thread;  // last: it uses the others
};
