// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A thread that its owner joins. GLib makes it: std::thread throws where no more can be started.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "error.hpp"

namespace integralhist {

class Thread {
public:
  Thread () = default;
  Thread (Thread &&other) noexcept : thread_ (std::exchange (other.thread_, nullptr)) {}
  Thread &operator= (Thread &&other) noexcept
  {
    join ();
    thread_ = std::exchange (other.thread_, nullptr);
    return *this;
  }
  ~Thread () { join (); }

  static Expected<Thread> start (const char *name, std::function<void ()> body)
  {
    auto *const owned = new std::function<void ()> (std::move (body));
    const auto run = [] (gpointer data) -> gpointer {
      const std::unique_ptr<std::function<void ()>> body (
          static_cast<std::function<void ()> *> (data));
      (*body) ();
      return nullptr;
    };
    g_autoptr (GError) problem = nullptr;
    Thread thread;
    thread.thread_ = g_thread_try_new (name, run, owned, &problem);
    if (thread.thread_)
      return thread;
    delete owned;
    return error (Error::Kind::no_threads, no_threads (problem->message));
  }

  void join ()
  {
    if (thread_)
      g_thread_join (std::exchange (thread_, nullptr));
  }
  void detach ()
  {
    if (thread_)
      g_thread_unref (std::exchange (thread_, nullptr));
  }

private:
  GThread *thread_ = nullptr;
};

/// Returns an error where the system does not start the threads that work on the CPU needs: TBB's,
/// which exist from the first call on, and some of ours.
Expected<> check_threads (const std::atomic<bool> *cancelled = nullptr);

}  // namespace integralhist
