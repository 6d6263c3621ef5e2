// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The pool of tensors and the fence by themselves, with tensors of the test: they count how many
// exist, to compare with the pool's limits. Also the list of idle objects, which gives the last
// one, or the one that fits and is idle longest, and drops surplus ones.
#include <gst/integralhist/engine/tensor_pool.hpp>
#include <gst/integralhist/host/host_fence.hpp>
#include <gst/integralhist/memory/idle_list.hpp>

#include <atomic>
#include <thread>
#include <vector>

#include "cancellable.hpp"
#include "must.hpp"

#include "test.hpp"  // last: it has macros with names of the standard library

using namespace integralhist;

namespace {

/// The state that all tensors of a test share.
struct Count {
  std::atomic<unsigned> alive = 0, made = 0;
  unsigned room = 1000;  // tensors that fit
  Error::Kind refusal = Error::Kind::no_memory;
  std::atomic<bool> busy = false;  // the work of released tensors goes on
};

class CountedTensor final : public EngineTensor {
public:
  explicit CountedTensor (Count &count) : EngineTensor ({ 8, 4, 1 }), count_ (count)
  {
    count_.alive++;
    count_.made++;
  }
  ~CountedTensor () override { count_.alive--; }

  Expected<> wait (GstClockTime) override { return {}; }
  Expected<> ask (std::span<const Query>) override { return {}; }
  Expected<const void *> host () override { return nullptr; }
  bool is_idle () override { return !count_.busy; }

private:
  Count &count_;
};

using Pool = std::shared_ptr<TensorPool>;
using Held = std::shared_ptr<EngineTensor>;

/// Makes a pool, which asks for each tensor with the number of existing ones.
Expected<Pool> pool_of (Count &count, unsigned async_depth, unsigned max_tensors,
                        const std::function<void (unsigned)> &on_long_wait = {})
{
  Options options;
  options.async_depth = async_depth;
  options.max_tensors = max_tensors;
  options.on_long_wait = on_long_wait;
  const auto make = [&count] (unsigned alive) -> Expected<std::unique_ptr<EngineTensor>> {
    fail_unless_equals_int (alive, count.alive);
    if (alive >= count.room)
      return error (count.refusal, "no room");
    return std::make_unique<CountedTensor> (count);
  };
  return TensorPool::create (make, options);
}

std::vector<Held> take (const Pool &pool, unsigned n)
{
  std::vector<Held> held (n);
  for (Held &tensor : held)
    tensor = must (pool->acquire ());
  return held;
}

struct Taker : Cancellable<Expected<Held>> {
  explicit Taker (const Pool &pool) : Cancellable ([pool] { return pool->acquire (); }) {}
};

using IdleInts = IdleList<std::unique_ptr<int>>;

void fill (IdleInts &list)
{
  for (const int i : { 1, 2, 3 })
    fail_if (list.give_back (std::make_unique<int> (i)));
}

}  // namespace

/// The pool makes no more tensors than the limit. A wait ends with the first tensor that comes
/// back, and is reported after a second.
TEST (limit)
{
  Count count;
  std::atomic<unsigned> told = 0;
  const Pool pool = must (pool_of (count, 8, 2, [&] (unsigned most) { told = most; }));
  fail_unless_equals_int (count.alive, 1);  // at once
  std::vector<Held> held = take (pool, 2);
  fail_unless (held[0] != held[1] && pool->n_out () == 2 && pool->is_exhausted ());
  {
    Taker taker (pool);
    fail_unless (!taker.is_done_after (kShortWait) && told == 0);
    const EngineTensor *const back = held[0].get ();
    held[0].reset ();
    fail_unless (taker.is_done_after (kLongWait) && taker.outcome && taker.outcome->get () == back);
    fail_unless (told == 0);  // it was soon over
  }
  fail_unless (pool->n_out () == 1 && !pool->is_exhausted ());
  held[0] = must (pool->acquire ());
  {
    Taker taker (pool);
    fail_unless (!taker.is_done_after (1500));
    fail_unless_equals_int (told, 2);
    held[1].reset ();
    fail_unless (taker.is_done_after (kLongWait) && taker.outcome);
  }
  fail_unless_equals_int (count.made, 2);
}

/// While work goes on the pool makes more tensors, up to async-depth.
TEST (growth)
{
  Count count;
  const Pool pool = must (pool_of (count, 3, 0));
  for (int i = 0; i < 5; i++)
    must (pool->acquire ());
  fail_unless_equals_int (count.made, 1);  // idle each time
  count.busy = true;
  for (unsigned made : { 2, 3, 3, 3 }) {
    must (pool->acquire ());
    fail_unless_equals_int (count.made, made);
  }
  // held tensors do not count: without a limit there is always one more
  const std::vector<Held> held = take (pool, 9);
  fail_unless_equals_int (count.alive, 9);

  // the limit also holds against async-depth
  Count few;
  const Pool limited = must (pool_of (few, 3, 2));
  few.busy = true;
  for (int i = 0; i < 5; i++)
    must (limited->acquire ());
  fail_unless_equals_int (few.made, 2);
}

/// If no more tensors fit, the pool goes on with those that it has, and does not try again. It
/// fails if it has none left, and for any other reason.
TEST (no_memory)
{
  Count none;
  none.room = 0;
  const auto refused = pool_of (none, 3, 0);
  fail_unless (!refused && refused.error ().kind == Error::Kind::no_memory);

  Count count;
  const Pool pool = must (pool_of (count, 4, 0));
  count.room = 2;
  count.busy = true;
  for (int i = 0; i < 5; i++)
    must (pool->acquire ());
  fail_unless_equals_int (count.made, 2);
  count.room = 1000;
  must (pool->acquire ());
  fail_unless_equals_int (count.made, 2);  // two are the most from then on
  count.room = 2;
  const std::vector<Held> held = take (pool, 2);
  const auto third = pool->acquire ();
  fail_unless (!third && third.error ().kind == Error::Kind::no_memory);
  fail_unless_equals_int (pool->n_out (), 2);  // the failed one is not counted

  Count broken;
  const Pool other = must (pool_of (broken, 4, 0));
  broken.room = 1;
  broken.refusal = Error::Kind::failed;
  broken.busy = true;
  const auto failed = other->acquire ();  // though a tensor is free
  fail_unless (!failed && failed.error ().kind == Error::Kind::failed);
}

/// If memory is short, the pool waits as long as some comes back.
TEST (returns)
{
  struct Returns final : MemoryReturns {
    guint64 n_returned () override { return n; }
    Expected<bool> await_more (guint64 before) override
    {
      fail_unless_equals_int (before, n);
      if (held.empty ())
        return false;
      held.pop_back ();
      n++;
      return true;
    }
    guint64 n = 0;
    std::vector<Held> held;
  } returns;
  Count count;
  const Pool pool = must (pool_of (count, 1, 0));
  count.room = 2;
  returns.held = take (pool, 2);
  const std::vector<Held> got = { must (pool->acquire (returns)), must (pool->acquire (returns)) };
  fail_unless (returns.n == 2 && count.made == 2);
  const auto none = pool->acquire (returns);
  fail_unless (!none && none.error ().kind == Error::Kind::no_memory);
}

/// After a peak the pool keeps as many as were out at once in the last 256 frames, and at least
/// async-depth and one.
TEST (surplus)
{
  Count count;
  const Pool pool = must (pool_of (count, 2, 0));
  constexpr int kRecent = 256;
  const auto pass = [&] (unsigned at_once, int frames) {
    for (int i = 0; i < frames; i += int (at_once))
      take (pool, at_once);
  };
  take (pool, 10);
  fail_unless_equals_int (count.alive, 10);  // all have come back, and stay
  pass (5, kRecent);
  fail_unless_equals_int (count.alive, 10);
  pass (5, 2 * kRecent);
  fail_unless_equals_int (count.alive, 5);
  pass (1, 3 * kRecent);
  fail_unless_equals_int (count.alive, 3);
  fail_unless_equals_int (count.made, 10);  // nothing was made anew
}

/// Tensors outlive the pool's end, and are freed with it from then on.
TEST (close_while_out)
{
  Count count;
  Pool pool = must (pool_of (count, 3, 0));
  std::vector<Held> held = take (pool, 4);
  held.pop_back ();
  fail_unless_equals_int (count.alive, 4);
  pool->close ();
  fail_unless_equals_int (count.alive, 3);  // the idle one is gone
  fail_unless_equals_int (pool->n_out (), 3);
  held.pop_back ();
  fail_unless_equals_int (count.alive, 2);
  pool.reset ();
  held.pop_back ();
  fail_unless_equals_int (count.alive, 1);
  held.pop_back ();
  fail_unless_equals_int (count.alive, 0);
}

/// A thread that is cancelled waits no more, gets nothing, and loses nothing.
TEST (cancelled)
{
  Count count;
  const Pool pool = must (pool_of (count, 3, 1));
  Held held = must (pool->acquire ());
  {
    Taker taker (pool);
    fail_unless (!taker.is_done_after (kShortWait) && pool->is_exhausted ());
    taker.cancelled = true;
    fail_unless (taker.is_done_after (kLongWait) && !taker.outcome);
    fail_unless (taker.outcome.error ().kind == Error::Kind::flushing);
  }
  held.reset ();
  {
    const std::atomic<bool> cancelled = true;
    const CancelScope scope (cancelled);
    fail_unless (!pool->is_exhausted ());
    const auto refused = pool->acquire ();  // though one is idle
    fail_unless (!refused && refused.error ().kind == Error::Kind::flushing);
  }
  must (pool->acquire ());
  fail_unless (pool->n_out () == 0 && count.made == 1);
}

/// A fence opens once for all waiting threads, with the first outcome, until new work begins.
TEST (fence)
{
  HostFence fence;
  const auto is_closed = [&] (GstClockTime timeout) {
    const auto outcome = fence.wait (timeout);
    return !outcome && outcome.error ().kind == Error::Kind::timeout;
  };
  fail_unless (is_closed (0));
  const gint64 start = g_get_monotonic_time ();
  fail_unless (is_closed (30 * GST_MSECOND));
  fail_unless (g_get_monotonic_time () - start >= 30 * 1000);

  std::atomic<int> through = 0;
  std::vector<std::thread> waiting;
  for (const GstClockTime timeout : { GST_CLOCK_TIME_NONE, GST_CLOCK_TIME_NONE - 1 })
    waiting.emplace_back ([&fence, &through, timeout] {
      const auto outcome = fence.wait (timeout);
      through += !outcome && outcome.error ().message == "first";
    });
  g_usleep (kShortWait * 1000);
  fail_unless_equals_int (through, 0);
  fence.signal (error (Error::Kind::failed, "first"));
  for (std::thread &thread : waiting)
    thread.join ();
  fail_unless_equals_int (through, 2);
  fence.signal ({});
  fail_unless (!fence.wait (0));  // the first outcome counts
  fence.reset ();
  fail_unless (is_closed (0));
  fence.signal ({});
  fail_unless (bool (fence.wait (0)));  // and the failure is forgotten
}

// the list of idle things

TEST (idle_list)
{
  IdleInts list;
  fail_if (list.take ());
  fill (list);
  const auto is_above_1 = [] (const auto &one) { return *one > 1; };
  fail_unless_equals_int (*list.take (is_above_1), 2);
  fail_unless_equals_int (*list.take (), 3);
  fail_if (list.take (is_above_1));
  fail_unless_equals_int (*list.take (), 1);
}

TEST (idle_list_limit)
{
  IdleInts list (3);
  fill (list);
  fail_unless_equals_int (*list.give_back (std::make_unique<int> (4)), 1);
  fail_unless_equals_int (int (list.take_all ().size ()), 3);
  fill (list);
  fail_unless_equals_int (int (list.close ().size ()), 3);
  fail_unless_equals_int (*list.give_back (std::make_unique<int> (5)), 5);
  fail_if (list.take ());
}
