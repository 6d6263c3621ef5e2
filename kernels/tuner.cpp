// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tuner.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <system_error>

#include "watchdog.hpp"
#if INTHIST_CUDA
#include "cuda/raii.hpp"
#endif

namespace inthist {
namespace {

/// The error that ended a candidate.
struct Failure {
  std::string text;
  bool stopped = false;  // by the watchdog

  explicit Failure (std::string what, bool by_watchdog = false)
      : text (std::move (what)), stopped (by_watchdog)
  {
  }
#if INTHIST_CUDA
  Failure (const cuda::CudaError &error) : text (error.what ()) {}
#endif
};

template <class T = void>
using Outcome = Expected<T, Failure>;

unexpected<Failure> failure (std::string text, bool stopped = false)
{
  return unexpected<Failure> (Failure (std::move (text), stopped));
}

unexpected<Failure> stopped ()
{
  return failure ("stopped", true);
}

/// Runs candidates: has memory of the device, and times frames.
class Bench {
public:
  virtual ~Bench () = default;
  /// Gives the job pixels and workspaces, which are kept while they are large enough.
  virtual Outcome<> prepare (Job &job, std::size_t workspace_bytes) = 0;
  /// Returns the seconds that `n` frames take.
  virtual Outcome<double> time (int n, const Job &job, const Strategy &strategy) = 0;
  /// Tells whether a first run takes about as long as the others, so that it can be hopeless.
  virtual bool first_run_counts () const = 0;
};

struct Free {
  void operator() (void *memory) const { std::free (memory); }
};
using Memory = std::unique_ptr<std::uint8_t, Free>;

Outcome<Memory> allocate (std::size_t bytes)
{
  Memory memory (static_cast<std::uint8_t *> (std::aligned_alloc (256, (bytes + 256) / 256 * 256)));
  if (!memory)
    return failure ("no memory for " + std::to_string (bytes) + " bytes");
  return memory;
}

std::size_t stride_of (const Shape &shape)
{
  return shape.pixel == Type::u8 ? bin_stride (shape.width)
                                 : std::size_t (shape.width) * bytes_of (shape.pixel);
}

/// Makes pixels of every bin (u8), or zeros. Large frames take a while, so this can be stopped.
Outcome<Memory> pattern (const Shape &shape, std::size_t stride, const std::atomic<bool> *cancelled)
{
  Memory pixels = TRY (allocate (stride * shape.height));
  for (int y = 0; y < shape.height; y++) {
    if (is_set (cancelled))
      return stopped ();
    std::uint8_t *const row = pixels.get () + y * stride;
    if (shape.pixel != Type::u8) {
      std::memset (row, 0, stride);
      continue;
    }
    const int step = 7 % shape.bins;
    int value = int ((y * (stride * 7 + 13)) % shape.bins);
    for (std::size_t x = 0; x < stride; x++) {
      row[x] = std::uint8_t (value);
      value += step;
      value -= value >= shape.bins ? shape.bins : 0;
    }
  }
  return pixels;
}

/// Runs one frame after another, each on all cores, as the engine does.
class CpuBench final : public Bench {
public:
  static Outcome<std::unique_ptr<Bench>> make (const Shape &shape,
                                               const std::atomic<bool> *cancelled)
  {
    auto bench = std::make_unique<CpuBench> ();
    bench->stride_ = stride_of (shape);
    bench->image_ = TRY (pattern (shape, bench->stride_, cancelled));
    return bench;
  }

  Outcome<> prepare (Job &job, std::size_t workspace_bytes) override
  {
    if (workspace_bytes > workspace_bytes_ || !workspace_) {
      workspace_ = nullptr;
      workspace_ = TRY (allocate (workspace_bytes));
      workspace_bytes_ = workspace_bytes;
    }
    job.pixels = { image_.get (), stride_ };
    job.workspace = workspace_.get ();
    return {};
  }

  Outcome<double> time (int n, const Job &job, const Strategy &strategy) override
  {
    const auto start = Clock::now ();
    for (int i = 0; i < n; i++) {
      if (is_set (job.cancelled))
        return stopped ();
      if (const int error = inthist::run (strategy, job); error != 0)
        return failure (std::string (strategy.name) + ": "
                            + std::generic_category ().message (error),
                        error == ECANCELED);
    }
    return seconds_since (start);
  }

  bool first_run_counts () const override { return true; }

private:
  std::size_t stride_ = 0, workspace_bytes_ = 0;
  Memory image_, workspace_;
};

#if INTHIST_CUDA
/// Runs frames in turn on some streams, each with a workspace of its own.
class CudaBench final : public Bench {
public:
  static Outcome<std::unique_ptr<Bench>> make (const Shape &shape, int slots,
                                               const std::atomic<bool> *cancelled)
  {
    auto bench = std::make_unique<CudaBench> ();
    bench->stride_ = stride_of (shape);
    const std::size_t bytes = bench->stride_ * shape.height;
    const Memory image = TRY (pattern (shape, bench->stride_, cancelled));
    bench->start_ = TRY (cuda::make_event (cudaEventDefault));
    bench->stop_ = TRY (cuda::make_event (cudaEventDefault));
    bench->slots_ = std::vector<Slot> (slots);
    for (Slot &slot : bench->slots_) {
      slot.stream = TRY (cuda::make_stream ());
      slot.done = TRY (cuda::make_event (cudaEventDisableTiming));
    }
    bench->image_ = TRY (cuda::make_device_memory (bytes));
    constexpr std::size_t kPiece = 32 << 20;  // bytes, of a few milliseconds
    for (std::size_t at = 0; at < bytes; at += kPiece) {
      if (is_set (cancelled))
        return stopped ();
      TRY (cuda::check (cudaMemcpyAsync (bench->image_.get () + at, image.get () + at,
                                         std::min (kPiece, bytes - at), cudaMemcpyHostToDevice,
                                         bench->first ())));
    }
    TRY (cuda::check (cudaStreamSynchronize (bench->first ())));
    return bench;
  }

  Outcome<> prepare (Job &job, std::size_t workspace_bytes) override
  {
    for (Slot &slot : slots_)
      TRY (slot.workspace.reserve (std::max<std::size_t> (workspace_bytes, 1)));
    job.pixels = { reinterpret_cast<std::uint8_t *> (image_.get ()), stride_ };
    return {};
  }

  /// Waits for what was launched before a stop, as it uses our memory.
  Outcome<double> time (int n, const Job &job, const Strategy &strategy) override
  {
    TRY (cuda::check (cudaEventRecord (start_.get (), first ())));
    for (Slot &slot : slots_)
      TRY (cuda::check (cudaStreamWaitEvent (slot.stream.get (), start_.get (), 0)));
    bool all = true;
    for (int i = 0; i < n && all; i++) {
      Slot &slot = slots_[i % slots_.size ()];
      Job frame = job;
      frame.stream = slot.stream.get ();
      frame.workspace = slot.workspace.get ();
      TRY (cuda::check (inthist::run (strategy, frame)));
      all = !is_set (job.cancelled);
    }
    for (Slot &slot : slots_) {
      TRY (cuda::check (cudaEventRecord (slot.done.get (), slot.stream.get ())));
      TRY (cuda::check (cudaStreamWaitEvent (first (), slot.done.get (), 0)));
    }
    TRY (cuda::check (cudaEventRecord (stop_.get (), first ())));
    TRY (cuda::check (cudaEventSynchronize (stop_.get ())));
    if (!all)
      return stopped ();
    float milliseconds;
    TRY (cuda::check (cudaEventElapsedTime (&milliseconds, start_.get (), stop_.get ())));
    return milliseconds / 1e3;
  }

  /// Returns false, for the first run loads the kernels.
  bool first_run_counts () const override { return false; }

private:
  struct Slot {
    cuda::StreamOwner stream;
    cuda::EventOwner done;
    cuda::GrowingDeviceMemory workspace;
  };

  Stream first () const { return slots_.front ().stream.get (); }

  std::size_t stride_ = 0;
  cuda::EventOwner start_, stop_;
  cuda::DeviceMemory image_;
  std::vector<Slot> slots_;
};
#endif

Outcome<std::unique_ptr<Bench>> make_bench ([[maybe_unused]] Device device, const Shape &shape,
                                            [[maybe_unused]] int slots,
                                            const std::atomic<bool> *cancelled)
{
#if INTHIST_CUDA
  if (device == Device::cuda)
    return CudaBench::make (shape, slots, cancelled);
#endif
  return CpuBench::make (shape, cancelled);
}

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
