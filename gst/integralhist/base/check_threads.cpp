// SPDX-License-Identifier: LGPL-2.1-or-later
#include "check_threads.hpp"

#include <mutex>
#include <vector>

#include <kernels/inthist.hpp>

#include "cancel.hpp"
#include "thread.hpp"

namespace integralhist {

Expected<> check_threads ()
{
  // the threads of an engine, of reports and of dropped engines, with some to spare; an estimate
  constexpr unsigned kOurs = 8;
  static std::mutex one_by_one;  // guards tbb_has_its_own and the trial threads
  static bool tbb_has_its_own = false;
  const std::lock_guard lock (one_by_one);
  const unsigned n = kOurs + (tbb_has_its_own ? 0 : g_get_num_processors () - 1);
  std::atomic<bool> may_end = false;
  Expected<> outcome;
  std::vector<Thread> threads;
  while (threads.size () < n && outcome) {
    auto thread = Thread::start ("integralhist-try", [&may_end] { may_end.wait (false); });
    if (thread)
      threads.push_back (std::move (*thread));
    else
      outcome = tl::make_unexpected (thread.error ());
  }
  may_end = true;
  may_end.notify_all ();
  threads.clear ();
  if (outcome && !tbb_has_its_own) {
    outcome = check_host (inthist::cpu::start_workers (CancelScope::flag ()));
    tbb_has_its_own = outcome.has_value ();
  }
  return outcome;
}

}  // namespace integralhist
