// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tuner chooses among strategies whose times are known: this program links it with a table of
// its own, of strategies that sleep. library/tuning.cpp tests how the elements use it.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <thread>

#include <kernels/registry.hpp>
#include <kernels/tuner.hpp>

#include "test.hpp"  // last: it has macros with names of the standard library

using namespace inthist;

namespace {

constexpr Shape kShape = { 64, 48, 1, Type::u32, Content::bins, Type::u8 };
constexpr int kTiles[] = { 64, 32, 16 };

/// Milliseconds that a run of strategy i takes, at tile 64 and at any other; less than nothing: it
/// fails. A sleep lasts longer on a machine that is busy: what should win is far ahead.
struct Times {
  double tile_64, others;
};
Times times[3];
std::atomic<int> runs[3];
std::atomic<bool> obedient;     // whether runs look at the job's flag
std::function<void ()> at_run;  // called when one begins

template <int kIndex>
int sleeping (const Job &job)
{
  runs[kIndex]++;
  if (at_run)
    at_run ();
  const double time =
      job.tuning.tile == 64 || job.tuning.tile == 0 ? times[kIndex].tile_64 : times[kIndex].others;
  if (time < 0)
    return 1;
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now () + std::chrono::duration<double, std::milli> (time);
  if (!obedient) {
    std::this_thread::sleep_until (end);
    return 0;
  }
  while (Clock::now () < end) {
    if (is_set (job.cancelled))
      return ECANCELED;
    std::this_thread::sleep_for (std::chrono::milliseconds (1));
  }
  return 0;
}

bool no_tile_of_16 (const Shape &, const Tuning &tuning)
{
  return tuning.tile != 16;
}

const Strategy kTable[] = {
  { .name = "first", .description = "", .device = Device::cpu, .run = sleeping<0> },
  { .name = "second",
    .description = "",
    .device = Device::cpu,
    .run = sleeping<1>,
    .supports = no_tile_of_16,
    .tiles = kTiles },
  { .name = "slow", .description = "", .device = Device::cpu, .run = sleeping<2>, .slow = true },
};

Expected<Choice, Untuned> try_tuning (const Times &first, const Times &second, double budget,
                                      const std::atomic<bool> *cancelled = nullptr)
{
  times[0] = first;
  times[1] = second;
  times[2] = { 0, 0 };  // the fastest of all, were it ever tried
  for (auto &n : runs)
    n = 0;
  std::vector<std::uint32_t> tensor (64 * 48);
  return tune (Device::cpu, kShape, layout_of (kShape), tensor.data (), budget, 1, cancelled);
}

Choice tuned (const Times &first, const Times &second, double budget)
{
  const auto choice = try_tuning (first, second, budget);
  fail_unless (choice.has_value ());
  return *choice;
}

double seconds_of (auto &&body)
{
  const auto start = std::chrono::steady_clock::now ();
  body ();
  return std::chrono::duration<double> (std::chrono::steady_clock::now () - start).count ();
}

void setup ()
{
  obedient = false;
  at_run = nullptr;
}

void expect (const Choice &choice, const char *name, int tile)
{
  fail_unless_equals_string (choice.strategy->name, name);
  fail_unless_equals_int (choice.tuning.tile, tile);
  fail_unless_equals_int (runs[2], 0);
}

}  // namespace

namespace inthist {

std::span<const Strategy> strategies ()
{
  return kTable;
}

int run (const Strategy &strategy, const Job &job)
{
  return strategy.run (job);
}

bool accepts (const Strategy &strategy, const Shape &shape, const Tuning &tuning)
{
  return strategy.supports (shape, tuning);
}

const Strategy *preferred_strategy (Device, const Shape &)
{
  return &kTable[0];
}

Layout layout_of (const Shape &shape)
{
  return { shape.width * bytes_of (shape.counter),
           shape.width * bytes_of (shape.counter) * shape.height };
}

}  // namespace inthist

TEST_FIXTURE (setup, nullptr);

TEST (the_candidates)
{
  const auto list = candidates (Device::cpu, kShape);
  fail_unless_equals_int (int (list.size ()),
                          3);  // not the slow one, and not the tile that is not supported
  fail_unless (list[0].strategy == &kTable[0] && list[1].tuning.tile == 64
               && list[2].tuning.tile == 32);
  fail_unless (default_choice (Device::cpu, kShape).strategy == &kTable[0]);
}

TEST (the_fastest)
{
  const Choice tile_32 = tuned ({ 30, 30 }, { 50, 2 }, 5);
  expect (tile_32, "second", 32);
  fail_unless (tile_32.seconds > 1.9e-3 && tile_32.seconds < 6e-3, "%g s", tile_32.seconds);
  expect (tuned ({ 2, 2 }, { 40, 50 }, 5), "first", 0);
}

/// A strategy that is faster by less than a twentieth does not replace the preferred one.
TEST (noise_unseats_nobody)
{
  expect (tuned ({ 60, 60 }, { 59, 100 }, 5), "first", 0);
}

TEST (failures_are_passed_over)
{
  expect (tuned ({ -1, -1 }, { 50, 2 }, 5), "second", 32);
  expect (tuned ({ 4, 4 }, { -1, -1 }, 5), "first", 0);
  expect (tuned ({ 50, 50 }, { -1, 1 }, 5), "second", 32);
}

TEST (nothing_works)
{
  const auto choice = try_tuning ({ -1, -1 }, { -1, -1 }, 5);
  fail_unless (!choice && !choice.error ().cancelled);
  expect_parts (choice.error ().why, { "second: " });
}

/// No run begins after the end of the tuning time.
TEST (in_time)
{
  expect (tuned ({ 100, 100 }, { 1, 1 }, 0.05), "first", 0);
  fail_unless_equals_int (runs[0], 1);
  fail_unless_equals_int (runs[1], 0);

  // 80 ms for the first, and then a run of the second would be too long
  expect (tuned ({ 40, 40 }, { 90, 90 }, 0.15), "first", 0);
  fail_unless (runs[1] <= 1, "%d runs of the second", runs[1].load ());
}

/// A candidate that was fast in only one round does not win.
TEST (too_few_rounds)
{
  // 200 ms for two runs of each, 100 ms for a round
  expect (tuned ({ 40, 40 }, { 30, 30 }, 0.31), "first", 0);
  fail_unless (runs[1] >= 4, "%d runs of the second", runs[1].load ());
}

/// A candidate that cannot win any more is not run again and again.
TEST (hopeless_ones_are_left_alone)
{
  expect (tuned ({ 2, 2 }, { 40, 40 }, 5), "first", 0);
  fail_unless_equals_int (runs[1], 2);  // each tile: to warm up
}

/// The tuner does not wait for hopeless candidates.
TEST (hopeless_ones_are_cut_off)
{
  obedient = true;
  Choice choice;
  const double took = seconds_of ([&] { choice = tuned ({ 10, 10 }, { 20000, 20000 }, 10); });
  expect (choice, "first", 0);
  fail_unless (took < 3, "%g s", took);
}

/// At the end of the tuning time the run is cut off, and a candidate without a full run is not
/// chosen.
TEST (no_longer_than_the_budget)
{
  struct Case {
    Times first, second;
    double budget;
  };
  obedient = true;
  // in the second run of the first, and in the first of the second, which are not hopeless yet
  for (const Case &c :
       { Case{ { 400, 400 }, { 1, 1 }, 0.45 }, Case{ { 150, 150 }, { 290, 290 }, 0.8 } }) {
    Choice choice;
    const double took = seconds_of ([&] { choice = tuned (c.first, c.second, c.budget); });
    expect (choice, "first", 0);
    fail_unless (took < c.budget + 0.1, "%g s of %g", took, c.budget);
  }
}

/// Nothing is chosen if the time is too short for one frame.
TEST (no_frame_in_time)
{
  obedient = true;
  Expected<Choice, Untuned> choice = unexpected<Untuned> (Untuned{});
  const double took = seconds_of ([&] {
    choice = try_tuning ({ 20000, 20000 }, { 20000, 20000 }, 0.1);
  });
  fail_unless (!choice && !choice.error ().cancelled && took < 0.3, "%g s", took);
  fail_unless_equals_string (choice.error ().why.c_str (), "the time was too short for a frame");
  fail_unless_equals_int (runs[1], 0);
}

/// The default does not lose to a candidate that was fast once: other work on the machine slows
/// down now the one and now the other.
TEST (once_is_not_clearly)
{
  int n = 0;
  at_run = [&] {
    // the default is slow while it is measured first, as are both from then on
    times[0].tile_64 = n++ < 5 ? 40 : 10;
  };
  expect (tuned ({ 40, 40 }, { 11, 100 }, 20), "first", 0);
}

/// Cancelling works however long a run would last, and whatever the flag says afterwards.
TEST (cancelled)
{
  obedient = true;
  for (const int after : { 0, 1, 3, 8 }) {  // runs
    std::atomic<bool> flag = false;
    std::chrono::steady_clock::time_point set;
    int n = 0;
    std::thread other;
    at_run = [&] {
      if (n++ == after)
        other = std::thread ([&] {
          std::this_thread::sleep_for (std::chrono::milliseconds (20));
          set = std::chrono::steady_clock::now ();
          flag = true;
          std::this_thread::sleep_for (std::chrono::milliseconds (500));
          flag = false;
        });
      if (n > after)
        times[0] = times[1] = { 20000, 20000 };
    };
    const auto choice = try_tuning ({ 15, 15 }, { 12, 12 }, 60, &flag);
    const auto end = std::chrono::steady_clock::now ();
    other.join ();
    fail_unless (!choice && choice.error ().cancelled);
    const double took = std::chrono::duration<double> (end - set).count ();
    fail_unless (took < 0.3, "%g s after %d runs", took, after);
  }
  std::atomic<bool> flag = true;
  const auto choice = try_tuning ({ 1, 1 }, { 1, 1 }, 60, &flag);
  fail_unless (!choice && choice.error ().cancelled && runs[0] == 0);
}
