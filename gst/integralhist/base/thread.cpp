// SPDX-License-Identifier: LGPL-2.1-or-later
#include "thread.hpp"

#include <memory>

namespace integralhist {

Expected<Thread> Thread::start (const char *name, std::function<void ()> body)
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
  return error (Error::Kind::no_threads, no_threads_text (problem->message));
}

}  // namespace integralhist
