// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tasks run once each, also tasks of tasks and tasks that share one. The first error in the order
// of the tasks comes back, whichever ends first, and a flag stops tasks that have not begun. Copies
// by several threads are complete. One thread at a time holds a mutex, and the others can be
// cancelled.
#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include <gst/integralhist/base/cancel.hpp>
#include <gst/integralhist/base/in_parallel.hpp>

#include "test.hpp"  // last: it has macros with names of the standard library

using namespace integralhist;

TEST (each_once)
{
  for (const int n : { 0, 1, 2, 3, 100 }) {
    std::vector<std::atomic<int>> runs (std::size_t (n) * 3);
    const auto done = in_parallel (n, [&] (int i) {
      return in_parallel (3, [&, i] (int j) -> Expected<> {
        runs[std::size_t (i * 3 + j)]++;
        return {};
      });
    });
    fail_unless (done.has_value ());
    for (const auto &times : runs)
      fail_unless_equals_int (times, 1);
  }
}

TEST (first_error)
{
  for (int round = 0; round < 20; round++) {
    const auto done = in_parallel (40, [&] (int i) -> Expected<> {
      if (i == 7)  // which others may overtake
        std::this_thread::sleep_for (std::chrono::milliseconds (1));
      if (i >= 7 && i % 3 == 1)
        return error (Error::Kind::bad_question, "task ", i);
      return {};
    });
    fail_unless (!done && done.error ().message == "task 7");
  }
}

TEST (neighbours)
{
  for (const int n : { 0, 1, 2, 7, 100 })
    for (const int tasks : { 1, 2, 3, 7 }) {
      std::vector<std::atomic<int>> runs (std::size_t (n) + 1);  // the last for none
      const auto body = [&] (int i) -> Expected<> {
        runs[std::size_t (i)]++;
        if (i >= n / 2)
          return error (Error::Kind::bad_question, "item ", i);
        return {};
      };
      const auto done = in_parallel (n, tasks, body);
      fail_unless (done.has_value () == (n == 0));
      fail_unless (n == 0 || done.error ().message == joined ("item ", n / 2));
      for (int i = 0; i < n; i++)  // a task ends at its error
        fail_unless (runs[std::size_t (i)] <= 1 && (i > n / 2 || runs[std::size_t (i)] == 1));
    }
}

TEST (copies)
{
  // none, too little for two threads, and as much as several have, of any size
  for (const int n : { 0, 1, 5, 60 }) {
    std::vector<std::vector<guint8>> from, to;
    std::vector<Copy> all;
    for (int i = 0; i < n; i++) {
      from.emplace_back (std::size_t (i) * 997 + i % 2, guint8 (i + 1));
      to.emplace_back (from.back ().size () + 1);  // of zeros
      all.push_back ({ to.back ().data (), from.back ().data (), from.back ().size () });
    }
    fail_unless (copy_in_parallel (all).has_value ());
    for (std::size_t i = 0; i < from.size (); i++) {
      from[i].push_back (0);
      fail_unless (from[i] == to[i], "%zu of %d", i, n);
    }
  }
}

TEST (cancelled)
{
  std::atomic<bool> flag = false;
  const CancelScope scope (flag);
  std::atomic<int> runs = 0;
  const auto done = in_parallel (1000, [&] (int) -> Expected<> {
    fail_unless (CancelScope::flag () == &flag);
    runs++;
    flag = true;
    return {};
  });
  fail_unless (!done && done.error ().kind == Error::Kind::flushing);
  fail_unless (runs >= 1 && runs < 1000, "%d", runs.load ());
  fail_unless (CancelScope::flag () == &flag);
}

/// A thread that waits for a held CancellableMutex ends its wait if it is cancelled, and takes the
/// mutex once it is free.
TEST (cancelled_wait_for_a_mutex)
{
  CancellableMutex mutex;
  auto held = mutex.lock ();
  fail_unless (held.has_value ());
  for (const bool is_cancelled : { true, false }) {
    std::atomic<bool> flag = false;
    auto outcome = std::async (std::launch::async, [&] () -> Expected<> {
      const CancelScope scope (flag);
      const auto lock = mutex.lock ();
      return lock ? Expected<> () : tl::make_unexpected (lock.error ());
    });
    fail_unless (outcome.wait_for (std::chrono::milliseconds (50)) == std::future_status::timeout);
    if (is_cancelled)
      flag = true;
    else
      held->unlock ();
    const Expected<> done = outcome.get ();
    fail_unless (done.has_value () != is_cancelled);
    fail_unless (!is_cancelled || done.error ().kind == Error::Kind::flushing);
  }
}

TEST (one_holds_a_mutex)
{
  CancellableMutex mutex;
  std::atomic<int> holders = 0;
  int n = 0;  // of all threads, guarded by the mutex
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back ([&] {
      for (int i = 0; i < 2000; i++) {
        const auto lock = mutex.lock ();
        fail_unless (lock.has_value () && ++holders == 1);
        n++;
        holders--;
      }
    });
  threads.clear ();  // joins
  fail_unless_equals_int (n, 4 * 2000);
}
