// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Starts all threads of TBB at once: gives TBB as many tasks as it may have threads, each of which
// waits until the others have started.
#include <algorithm>
#include <chrono>
#include <thread>

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include "parallel.hpp"

namespace inthist::cpu {

int start_workers (const std::atomic<bool> *cancelled)
{
  using Clock = std::chrono::steady_clock;
  constexpr auto kPatience = std::chrono::milliseconds (100);
  return guarded ([&] {
    // TBB keeps its threads as long as there is an arena, so this arena is never destroyed
    static tbb::task_arena &arena = *new tbb::task_arena;
    return arena.execute ([&] {
      const int allowed =
          int (tbb::global_control::active_value (tbb::global_control::max_allowed_parallelism));
      const int all = std::min (tbb::this_task_arena::max_concurrency (), allowed);
      // each thread waits until all of TBB's threads have come, or no other has come for a while
      std::atomic<int> here = 0;
      return for_each (all, 1, cancelled, [&] (int) {
        int seen = ++here;
        auto end = Clock::now () + kPatience;
        while (seen < all && !is_set (cancelled) && Clock::now () < end) {
          std::this_thread::sleep_for (std::chrono::microseconds (20));
          if (const int now = here; now > seen) {
            seen = now;
            end = Clock::now () + kPatience;
          }
        }
      });
    });
  });
}

}  // namespace inthist::cpu
