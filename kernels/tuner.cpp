// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tuner.hpp"

#include <algorithm>

#include "bench.hpp"
#include "clock.hpp"
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

  bool is_over () const { return seconds_since (start_) > budget_; }

  struct Measured {
    double seconds;  // per frame; for ever where not even one was seen to its end
    bool complete;   // there was time to find out
  };

  /// Takes the best of three samples, and stops as soon as the candidate is hopeless against
  /// `best`. Where that is 0 there is none yet, and the first run may take its time.
  Outcome<Measured> measure (const Choice &choice, double best)
  {
    const Job job = TRY (prepare (choice));
    const bool judge_first = best > 0 && bench_.first_run_counts ();
    const Sample first =
        TRY (sample (job, choice, 1, judge_first ? kHopelessFirst * best : kForEver, best == 0));
    if (first.cut || (judge_first && first.seconds > kHopelessFirst * best))
      return Measured{ first.cut ? kForEver : first.seconds, !first.cut || !is_over () };
    double seconds = first.seconds;
    const int n = in_flight (seconds);
    const Sample warm = TRY (sample (job, choice, n, best > 0 ? kHopeless * best * n : kForEver));
    if (warm.cut)
      return Measured{ std::max (seconds, warm.seconds), !is_over () };
    seconds = warm.seconds;
    if (best > 0 && seconds > kHopeless * best)
      return Measured{ seconds, true };
    const int frames = frames_of (seconds);
    for (int i = 0; i < 3; i++) {
      const Sample again = TRY (sample (job, choice, frames, kForEver));
      if (again.cut)
        return Measured{ seconds, false };
      seconds = std::min (seconds, again.seconds);
    }
    return Measured{ seconds, true };
  }

  enum class Comparison { lost, won, unknown };

  /// Tells whether `other` beats `one` clearly in each of some rounds, as other work slows down now
  /// the one and now the other. Keeps the best time of each.
  Outcome<Comparison> compare (Choice &one, Choice &other)
  {
    for (int round = 0; round < kRounds; round++) {
      double seconds[2];
      for (Choice *choice : { &one, &other }) {
        const Job job = TRY (prepare (*choice));
        const Sample taken = TRY (sample (job, *choice, frames_of (choice->seconds), kForEver));
        if (taken.cut)
          return round > 0 ? Comparison::won : Comparison::unknown;
        seconds[choice == &other] = taken.seconds;
      }
      one.seconds = std::min (one.seconds, seconds[0]);
      other.seconds = std::min (other.seconds, seconds[1]);
      if (seconds[1] > kClearly * seconds[0])
        return Comparison::lost;
    }
    return Comparison::won;
  }

private:
  struct Sample {
    double seconds;    // per frame; at least so many, of a run that was cut off
    bool cut = false;  // hopeless, or the time is up
  };

  Outcome<Job> prepare (const Choice &choice)
  {
    Job job = job_;
    job.tuning = choice.tuning;
    job.cancelled = watchdog_.flag ();
    TRY (bench_.prepare (job, choice.strategy->workspace_bytes (job.shape, choice.tuning)));
    return job;
  }

  /// Times n frames, within `limit` seconds for all and the time that is left.
  Outcome<Sample> sample (const Job &job, const Choice &choice, int n, double limit,
                          bool has_time = false)
  {
    const double left = has_time ? kForEver : budget_ - seconds_since (start_);
    if (left <= 0 && !watchdog_.is_cancelled ())
      return Sample{ 0, true };
    watchdog_.allow (std::min (limit, left));
    const auto start = Clock::now ();
    const auto seconds = bench_.time (n, job, *choice.strategy);
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
  const auto untuned = [] (std::string why, bool by_caller = false) {
    return unexpected<Untuned> (Untuned{ std::move (why), by_caller });
  };
  slots = std::max (slots, 1);
  const auto watchdog = Watchdog::make (cancelled);
  if (!watchdog)
    return untuned ("no thread could be started");
  const auto bench = make_bench (device, shape, slots, watchdog->flag ());
  if (watchdog->is_cancelled ())
    return untuned ("cancelled", true);
  if (!bench)
    return untuned (bench.error ().text);

  Trial trial (**bench, *watchdog,
               { .shape = shape, .layout = layout, .pixels = {}, .tensor = tensor }, slots, start,
               budget);
  std::vector<Choice> list = candidates (device, shape);
  Choice *best = nullptr;
  bool complete = true;
  std::string why = "no strategy could be run";
  for (Choice &choice : list) {
    if (best && trial.is_over ()) {
      complete = false;
      break;
    }
    const auto measured = trial.measure (choice, best ? best->seconds : 0);
    if (watchdog->is_cancelled ())
      return untuned ("cancelled", true);
    if (!measured) {
      why = "no strategy could be run; the last: " + measured.error ().text;
      continue;
    }
    choice.seconds = measured->seconds;
    complete = complete && measured->complete;
    if (!best || choice.seconds < best->seconds)
      best = &choice;
  }
  if (!best)
    return untuned (why);
  Choice &first = list.front ();
  if (best != &first && first.seconds > 0) {
    // the default ran first, maybe on clocks that were asleep
    const auto compared = trial.compare (first, *best);
    if (watchdog->is_cancelled ())
      return untuned ("cancelled", true);
    const bool known = compared && *compared != Trial::Comparison::unknown;
    complete = complete && known;
    if (known ? *compared == Trial::Comparison::lost : best->seconds * kHopeless > first.seconds)
      best = &first;
  }
  best->complete = complete;
  return *best;
}

}  // namespace inthist
