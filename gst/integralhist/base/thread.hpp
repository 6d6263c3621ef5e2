// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A thread that its owner joins. GLib starts it, because std::thread throws at a thread limit.
#pragma once

#include <functional>
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

  static Expected<Thread> start (const char *name, std::function<void ()> body);

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

}  // namespace integralhist
