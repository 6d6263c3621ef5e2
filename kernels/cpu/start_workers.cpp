// SPDX-License-Identifier: LGPL-2.1-or-later
#include <chrono>
#include <thread>

#include <tbb/task_arena.h>

#include "parallel.hpp"

namespace inthist::cpu {

int start_workers ()
{
  // an arena that is never destroyed keeps its workers
  static tbb::task_arena &arena = *new tbb::task_arena;
  return guarded ([] {
    return arena.execute ([] {
      // no thread leaves before all have come, or a second has passed
      const int all = tbb::this_task_arena::max_concurrency ();
      const auto end = std::chrono::steady_clock::now () + std::chrono::seconds (1);
      std::atomic<int> here = 0;
      return for_each (all, 1, nullptr, [&] (int) {
        here++;
        while (here < all && std::chrono::steady_clock::now () < end)
          std::this_thread::sleep_for (std::chrono::microseconds (20));
      });
    });
  });
}

}  // namespace inthist::cpu
