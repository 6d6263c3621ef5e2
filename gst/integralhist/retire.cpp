// SPDX-License-Identifier: LGPL-2.1-or-later
#include "retire.hpp"

#include <condition_variable>
#include <mutex>

#include "thread.hpp"

namespace integralhist {
namespace {

/// Counts the engines being dropped. The process's end waits for them: they use other libraries.
class Retired {
public:
  static Retired &all ()
  {
    static Retired retired;
    return retired;
  }

  ~Retired ()
  {
    std::unique_lock lock (mutex_);
    changed_.wait (lock, [this] { return n_ == 0; });
  }

  void add ()
  {
    const std::lock_guard lock (mutex_);
    n_++;
  }

  void remove ()
  {
    const std::lock_guard lock (mutex_);
    n_--;
    changed_.notify_all ();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned n_ = 0;
};

struct Outcome {
  std::mutex mutex;
  std::condition_variable changed;
  bool dropped = false;
};

}  // namespace

void retire (std::shared_ptr<Engine> engine, const std::function<bool ()> &hurry)
{
  if (!engine)
    return;
  constexpr std::chrono::milliseconds kMoment (100), kPoll (10);
  engine->abandon ();
  Retired &retired = Retired::all ();
  retired.add ();
  const auto outcome = std::make_shared<Outcome> ();
  const auto owned = std::make_shared<std::shared_ptr<Engine>> (std::move (engine));
  const auto drop = [owned, outcome, &retired] {
    owned->reset ();
    {
      const std::lock_guard lock (outcome->mutex);
      outcome->dropped = true;
      outcome->changed.notify_all ();
    }
    retired.remove ();
  };
  auto thread = Thread::start ("integralhist-retire", drop);
  if (!thread)
    return drop ();
  const auto start = std::chrono::steady_clock::now ();
  std::unique_lock lock (outcome->mutex);
  while (!outcome->dropped && !(std::chrono::steady_clock::now () - start > kMoment && hurry ()))
    outcome->changed.wait_for (lock, kPoll);
  if (outcome->dropped) {
    lock.unlock ();
    thread->join ();
  } else {
    thread->detach ();
  }
}

}  // namespace integralhist
