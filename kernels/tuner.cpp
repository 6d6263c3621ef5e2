// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tuner.hpp"

#include <algorithm>

#include "bench.hpp"
#include "clock.hpp"
#include "registry.hpp"
#include "watchdog.hpp"

namespace inthist {
namespace {

constexpr double kHopeless = 1.3;     // times the best so far: a run so slow needs no other
constexpr double kHopelessFirst = 2;  // for a first run, which finds pages and caches as they are
constexpr double kClearly = 0.95;     // of the default's time, which the winner must stay below
constexpr int kRounds = 3;            // in each of which it must
constexpr double kSample = 0.5e-3;    // seconds of a sample, for the clock to mean something
constexpr double kInFlight = 50e-3;   // seconds launched at once, as no launch can be called back

/// Measures candidates of one shape, until the time is up or somebody cancels.
class Trial {
public:
  Trial (Bench &bench, Watchdog &watchdog, const Job &job, int slots, Clock::time_point start,
         double budget)
      : bench_ (bench), watchdog_ (watchdog), job_ (job), slots_ (slots), start_ (start),
        budget_ (budget)
  {
  }

  /// Returns the fastest candidate, or the first, the default, where it is not clearly beaten.
  Outcome<Choice> choose (std::vector<Choice> candidates)
  {
    Choice &fastest = *TRY (fastest_of (candidates)), &first = candidates.front ();
    if (&fastest == &first || first.seconds == 0)
      return fastest;
    // the default ran first, maybe on clocks that were asleep
    const auto beaten = is_beaten (first, fastest);
    if (watchdog_.is_cancelled ())
      return stopped ();
    const bool unseated = beaten ? *beaten : fastest.seconds * kHopeless <= first.seconds;
    Choice &choice = unseated ? fastest : first;
    choice.complete = fastest.complete && beaten.has_value ();
    return choice;
  }

private:
  struct Measured {
    double seconds;  // per frame; for ever where not even one was seen to its end
    bool complete;   // there was time to find out
  };

  struct Sample {
    double seconds;    // per frame; at least so many, of a run that was cut off
    bool cut = false;  // hopeless, or the time is up
  };

  bool is_over () const { return seconds_since (start_) > budget_; }

  /// Measures the candidates in turn. The fastest is complete if there was time for all.
  Outcome<Choice *> fastest_of (std::vector<Choice> &candidates)
  {
    Choice *best = nullptr;
    bool complete = true;
    std::string why = "no strategy could be run";
    for (Choice &candidate : candidates) {
      if (best && is_over ()) {
        complete = false;
        break;
      }
      const auto measured = measure (candidate, best ? best->seconds : 0);
      if (watchdog_.is_cancelled ())
        return stopped ();
      if (!measured) {
        why = "no strategy could be run; the last: " + measured.error ().text;
        continue;
      }
      candidate.seconds = measured->seconds;
      complete = complete && measured->complete;
      if (!best || candidate.seconds < best->seconds)
        best = &candidate;
    }
    if (!best)
      return failure (why);
    best->complete = complete;
    return best;
  }

  /// Runs one frame, then as many as are in flight, and then takes samples. Stops as soon as the
  /// candidate is hopeless against `best`. Where that is 0 there is none yet, and the first run may
  /// take its time.
  Outcome<Measured> measure (const Choice &candidate, double best)
  {
    const Job job = TRY (prepare (candidate));
    const bool judge_first = best > 0 && bench_.first_run_counts ();
    const double first_limit = judge_first ? kHopelessFirst * best : kForEver;
    const Sample first = TRY (sample (job, candidate, 1, first_limit, best == 0));
    if (first.cut)
      return Measured{ kForEver, !is_over () };
    if (first.seconds > first_limit)
      return Measured{ first.seconds, true };
    const double limit = best > 0 ? kHopeless * best : kForEver;
    const int n = in_flight (first.seconds);
    const Sample warm = TRY (sample (job, candidate, n, limit * n));
    if (warm.cut)
      return Measured{ std::max (first.seconds, warm.seconds), !is_over () };
    if (warm.seconds > limit)
      return Measured{ warm.seconds, true };
    return best_of_three (job, candidate, warm.seconds);
  }

  /// Takes three more samples of a candidate that has taken `seconds`.
  Outcome<Measured> best_of_three (const Job &job, const Choice &candidate, double seconds)
  {
    const int frames = frames_of (seconds);
    for (int i = 0; i < 3; i++) {
      const Sample again = TRY (sample (job, candidate, frames, kForEver));
      if (again.cut)
        return Measured{ seconds, false };
      seconds = std::min (seconds, again.seconds);
    }
    return Measured{ seconds, true };
  }

  /// Tells whether `other` beats `one` clearly in each of some rounds, as other work slows down now
  /// the one and now the other. Keeps the best time of each. Fails if the time is up in the first
  /// round, and leaves out later ones.
  Outcome<bool> is_beaten (Choice &one, Choice &other)
  {
    for (int round = 0; round < kRounds; round++) {
      double seconds[2];
      for (Choice *choice : { &one, &other }) {
        const Job job = TRY (prepare (*choice));
        const Sample taken = TRY (sample (job, *choice, frames_of (choice->seconds), kForEver));
        if (taken.cut && round == 0)
          return stopped ();
        if (taken.cut)
          return true;
        seconds[choice == &other] = taken.seconds;
      }
      one.seconds = std::min (one.seconds, seconds[0]);
      other.seconds = std::min (other.seconds, seconds[1]);
      if (seconds[1] > kClearly * seconds[0])
        return false;
    }
    return true;
  }

  Outcome<Job> prepare (const Choice &candidate)
  {
    Job job = job_;
    job.tuning = candidate.tuning;
    job.cancelled = watchdog_.flag ();
    TRY (bench_.prepare (job, candidate.strategy->workspace_bytes (job.shape, candidate.tuning)));
    return job;
  }

  /// Times n frames, within `limit` seconds for all and the time that is left.
  Outcome<Sample> sample (const Job &job, const Choice &candidate, int n, double limit,
                          bool has_time = false)
  {
    const double left = has_time ? kForEver : budget_ - seconds_since (start_);
    if (left <= 0 && !watchdog_.is_cancelled ())
      return Sample{ 0, true };
    watchdog_.allow (std::min (limit, left));
    const auto start = Clock::now ();
    const auto seconds = bench_.time (n, job, *candidate.strategy);
    if (watchdog_.is_cancelled ())
      return stopped ();
    if (!seconds && seconds.error ().stopped)
      return Sample{ seconds_since (start) / n, true };
    return Sample{ TRY (seconds) / n };
  }

  int in_flight (double seconds) const
  {
    return std::clamp (int (kInFlight / std::max (seconds, 1e-9)), 1, slots_);
  }
  int frames_of (double seconds) const
  {
    return std::clamp (int (kSample / std::max (seconds, 1e-9)), in_flight (seconds),
                       std::max (50, slots_));
  }

  Bench &bench_;
  Watchdog &watchdog_;
  const Job job_;
  const int slots_;
  const Clock::time_point start_;
  const double budget_;
};

}  // namespace

std::vector<Choice> candidates (Device device, const Shape &shape)
{
  std::vector<Choice> list;
  static constexpr int kNone[] = { 0 };
  const auto values = [] (std::span<const int> offered) {
    return offered.empty () ? std::span<const int> (kNone) : offered;
  };
  for (const Strategy &strategy : strategies ())
    if (strategy.device == device && !strategy.slow)
      for (const int tile : values (strategy.tiles))
        for (const int threads : values (strategy.threads))
          if (accepts (strategy, shape, { tile, threads }))
            list.push_back ({ &strategy, { tile, threads } });
  return list;
}

Choice default_choice (Device device, const Shape &shape)
{
  const auto list = candidates (device, shape);
  return list.empty () ? Choice{ .strategy = preferred_strategy (device, shape) } : list.front ();
}

Expected<Choice, Untuned> tune (Device device, const Shape &shape, const Layout &layout,
                                void *tensor, double budget, int slots,
                                const std::atomic<bool> *cancelled)
{
  const auto start = Clock::now ();
  slots = std::max (slots, 1);
  const auto watchdog = Watchdog::make (cancelled);
  if (!watchdog)
    return unexpected<Untuned> (Untuned{ "no thread could be started" });
  const auto choose = [&] () -> Outcome<Choice> {
    const auto bench = TRY (make_bench (device, shape, slots, watchdog->flag ()));
    if (watchdog->is_cancelled ())
      return stopped ();
    const Job job = { .shape = shape, .layout = layout, .pixels = {}, .tensor = tensor };
    return Trial (*bench, *watchdog, job, slots, start, budget).choose (candidates (device, shape));
  };
  const auto choice = choose ();
  if (!choice)
    return unexpected<Untuned> (Untuned{ choice.error ().text, watchdog->is_cancelled () });
  return *choice;
}

}  // namespace inthist
