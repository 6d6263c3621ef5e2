// SPDX-License-Identifier: LGPL-2.1-or-later
#include "destroy_engine.hpp"

#include <atomic>
#include <future>

#include <gst/integralhist/base/log.hpp>
#include <gst/integralhist/base/thread.hpp>

namespace integralhist {
namespace {

/// Counts the engines that destroy_engine () is destroying. The process waits for them at its end,
/// because engines use other libraries.
struct DestroyCount {
  std::atomic<unsigned> n = 0;

  ~DestroyCount ()
  {
    for (unsigned left = n; left > 0; left = n)
      n.wait (left);
  }
};

struct Destruction {
  std::shared_ptr<Engine> engine;
  std::promise<void> done;
};

}  // namespace

void destroy_engine (std::shared_ptr<Engine> engine)
{
  constexpr std::chrono::milliseconds kMoment (100), kPoll (10);
  if (!engine)
    return;
  GST_DEBUG ("dropping an engine");
  engine->abandon ();
  static DestroyCount running;
  running.n++;
  const auto destruction = std::make_shared<Destruction> (Destruction{ std::move (engine), {} });
  const auto destroy = [destruction] {
    destruction->engine.reset ();
    destruction->done.set_value ();
    running.n--;
    running.n.notify_all ();
  };
  const auto done = destruction->done.get_future ();
  auto thread = Thread::start ("integralhist-retire", destroy);
  if (!thread)
    return destroy ();
  const auto start = std::chrono::steady_clock::now ();
  while (done.wait_for (kPoll) == std::future_status::timeout)
    if (std::chrono::steady_clock::now () - start > kMoment && CancelScope::is_cancelled ()) {
      GST_DEBUG ("the engine still computes what is held: not waiting for it");
      return thread->detach ();
    }
  thread->join ();
}

}  // namespace integralhist
