// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Runs work in parallel with TBB, and turns the exceptions of TBB and of the allocator into error
// numbers. No other code of the CPU kernels sees exceptions.
#pragma once

#include <atomic>
#include <cerrno>
#include <new>
#include <type_traits>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "../inthist.hpp"

namespace inthist::cpu {

/// Returns the result of body (), or, if body () throws, ENOMEM for lack of memory, and EAGAIN for
/// anything else, such as no threads.
template <class Body>
[[nodiscard]] int guarded (Body &&body)
{
  try {
    return body ();
  } catch (const std::bad_alloc &) {
    return ENOMEM;
  } catch (...) {
    return EAGAIN;
  }
}

/// Calls body (subrange) for subranges of a TBB range, in parallel. Once a body returns false, as
/// it stopped half-way, no other begins, and the result is ECANCELED. The tasks have their own
/// context, so that the application cannot cancel them unnoticed. While the calling thread waits,
/// it runs no other tasks, because they might need a lock that the caller holds.
template <class Range, class Body>
[[nodiscard]] int for_subranges (const Range &range, Body &&body)
{
  return guarded ([&] {
    tbb::task_group_context context (tbb::task_group_context::isolated);
    tbb::this_task_arena::isolate ([&] {
      tbb::parallel_for (
          range,
          [&] (const Range &subrange) {
            if (!body (subrange))
              context.cancel_group_execution ();
          },
          context);
    });
    return context.is_group_execution_cancelled () ? ECANCELED : 0;
  });
}

/// Calls body (i) for i = 0..n - 1 in parallel, until the flag `cancelled` is set. A body that
/// takes over a millisecond polls the flag itself, and returns false if it stopped.
template <class Index, class Body>
[[nodiscard]] int for_each (Index n, Index grain, const std::atomic<bool> *cancelled, Body &&body)
{
  return for_subranges (tbb::blocked_range<Index> (0, n, grain),
                        [&] (const tbb::blocked_range<Index> &range) {
                          for (Index i = range.begin (); i < range.end (); i++) {
                            if (is_set (cancelled))
                              return false;
                            if constexpr (std::is_void_v<decltype (body (i))>)
                              body (i);
                            else if (!body (i))
                              return false;
                          }
                          return true;
                        });
}

}  // namespace inthist::cpu
