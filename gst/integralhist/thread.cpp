// SPDX-License-Identifier: LGPL-2.1-or-later
#include "thread.hpp"

#include <condition_variable>
#include <mutex>
#include <vector>

#include <inthist.hpp>

namespace integralhist {

Expected<> check_threads (const std::atomic<bool> *cancelled)
{
  constexpr unsigned kOurs = 8;
  static std::mutex one_by_one;  // guards tbb_has_its_own and the trial threads
  static bool tbb_has_its_own = false;
  const std::lock_guard lock (one_by_one);
  const unsigned n = kOurs + (tbb_has_its_own ? 0 : g_get_num_processors () - 1);
  struct {
    std::mutex mutex;
    std::condition_variable changed;
    bool may_end = false;
  } all;
  Expected<> outcome;
  std::vector<Thread> threads;
  while (threads.size () < n && outcome) {
    auto thread = Thread::start ("integralhist-try", [&all] {
      std::unique_lock lock (all.mutex);
      all.changed.wait (lock, [&all] { return all.may_end; });
    });
    if (thread)
      threads.push_back (std::move (*thread));
    else
      outcome = tl::make_unexpected (thread.error ());
  }
  {
    const std::lock_guard lock (all.mutex);
    all.may_end = true;
    all.changed.notify_all ();
  }
  threads.clear ();
  if (outcome && !tbb_has_its_own) {
    outcome = check_host (inthist::cpu::start_workers (cancelled));
    tbb_has_its_own = outcome.has_value ();
  }
  return outcome;
}

}  // namespace integralhist
