// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A Trial lets candidates run in turns on a Bench. A Watchdog cancels a run that takes too long.
#include "tuner.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "clock.hpp"
#include "registry.hpp"
#if INTHIST_CUDA
#include "cuda/raii.hpp"
#endif

namespace inthist {
namespace {

constexpr double kHopeless = 2;    // a strategy this many times as slow as the fastest is dropped
constexpr double kClearly = 0.95;  // a faster strategy takes under this share of the default's time
constexpr int kRounds = 3, kMinWon = 2;
constexpr double kSample = 2e-3;          // seconds of a measurement: long enough for the clock
constexpr double kInFlight = 50e-3;       // seconds of work launched on a GPU; cannot be cancelled
constexpr int kMaxFrames = 50;            // frames of a measurement
constexpr std::size_t kPiece = 32 << 20;  // bytes copied to a GPU between looks at the cancel flag

struct Failure {
  std::string text;

  explicit Failure (std::string what) : text (std::move (what)) {}
#if INTHIST_CUDA
  Failure (const cuda::CudaError &error) : text (error.what ()) {}
#endif
};

template <class T = void>
using Outcome = Expected<T, Failure>;

unexpected<Failure> failure (std::string text)
{
  return unexpected<Failure> (Failure (std::move (text)));
}

unexpected<Failure> stopped ()
{
  return failure ("stopped");
}

/// A thread that polls every few milliseconds and sets the jobs' flag `cancelled` when the caller's
/// flag is set or the time is up. Without it, the tuner would wait for the end of a run: on two
/// busy cores a frame of 1920x1080x32 takes the `wavefront` strategy up to 1.5 s.
class Watchdog {
public:
  explicit Watchdog (const std::atomic<bool> *cancelled) : theirs_ (cancelled) {}

  Outcome<> start ()
  {
    try {
      thread_ = std::jthread ([this] (const std::stop_token &quit) {
        for (; !quit.stop_requested ();
             std::this_thread::sleep_for (std::chrono::milliseconds (4))) {
          const std::lock_guard lock (mutex_);
          if (is_cancelled () || seconds_since (begun_) > limit_)
            stop_ = true;
        }
      });
    } catch (const std::system_error &) {
      return failure ("no thread could be started");
    }
    return {};
  }

  /// Sets a new time limit: the running work is cancelled this many seconds from now.
  void allow (double seconds)
  {
    const std::lock_guard lock (mutex_);
    begun_ = Clock::now ();
    limit_ = seconds;
    stop_ = is_cancelled ();
  }

  const std::atomic<bool> *flag () const { return &stop_; }

  /// Returns whether the flag to cancel is set, or was set in an earlier call.
  bool is_cancelled ()
  {
    if (is_set (theirs_))
      cancelled_ = true;
    return cancelled_;
  }

private:
  const std::atomic<bool> *const theirs_;
  std::atomic<bool> stop_ = false, cancelled_ = false;
  std::mutex mutex_;  // guards begun_ and limit_
  Clock::time_point begun_;
  double limit_ = kForEver;
  std::jthread thread_;
};

using Memory = std::unique_ptr<std::uint8_t, void (*) (void *)>;

Outcome<Memory> allocate ([[maybe_unused]] Device device, std::size_t bytes)
{
  void *memory = nullptr;
  bytes = round_up (bytes + 1, 256);
#if INTHIST_CUDA
  if (device == Device::cuda) {
    TRY (cuda::check (cudaMalloc (&memory, bytes)));
    return Memory (static_cast<std::uint8_t *> (memory), [] (void *block) { cudaFree (block); });
  }
#endif
  memory = std::aligned_alloc (256, bytes);
  if (!memory)
    return failure ("no memory for " + std::to_string (bytes) + " bytes");
  return Memory (static_cast<std::uint8_t *> (memory), std::free);
}

/// Times strategies on frames of one test picture. The frames use slots in turn; each slot has its
/// own CUDA stream and workspace. The CPU has one slot, because a frame uses all cores.
class Bench {
public:
  Bench (Device device, const Job &job) : device_ (device), job_ (job) {}

  Outcome<> open (int slots)
  {
    image_ = TRY (pattern ());
    for (int i = 0; i < (device_ == Device::cuda ? slots : 1); i++)
      slots_.push_back ({});
#if INTHIST_CUDA
    if (device_ == Device::cuda) {
      for (Slot &slot : slots_)
        slot.stream = TRY (cuda::make_stream ());
      image_ = TRY (uploaded (image_.get ()));
    }
#endif
    return {};
  }

  /// Returns the seconds that a strategy takes for `n` frames. If tuning is cancelled, still waits
  /// for the frames that are launched, because they use the memory of this object.
  Outcome<double> time (const Choice &candidate, int n)
  {
    const Strategy &strategy = *candidate.strategy;
    TRY (reserve (strategy.workspace_bytes (job_.shape, candidate.tuning)));
    const auto start = Clock::now ();
    int error = 0, run = 0;
    for (; run < n && error == 0 && !is_set (job_.cancelled); run++) {
      Slot &slot = slots_[run % slots_.size ()];
      Job frame = job_;
      frame.pixels = { image_.get (), binned_stride (job_.shape) };
      frame.tuning = candidate.tuning;
      frame.workspace = slot.workspace.get ();
      frame.workspace_kept = run >= int (slots_.size ());
#if INTHIST_CUDA
      frame.stream = slot.stream.get ();
#endif
      error = inthist::run (strategy, frame);
    }
#if INTHIST_CUDA
    if (device_ == Device::cuda) {
      for (Slot &slot : slots_)
        TRY (cuda::check (cudaStreamSynchronize (slot.stream.get ())));
      TRY (cuda::check (error));
    }
#endif
    if (error == ECANCELED || (error == 0 && run < n))
      return stopped ();
    if (error != 0)
      return failure (std::generic_category ().message (error));
    return seconds_since (start);
  }

private:
  struct Slot {
    Memory workspace = { nullptr, std::free };
#if INTHIST_CUDA
    cuda::StreamOwner stream;  // is destroyed before the workspace
#endif
  };

  /// Returns a test picture, with u8 pixels of all bins, or zeros; stops if tuning is cancelled.
  Outcome<Memory> pattern () const
  {
    const Shape &shape = job_.shape;
    const std::size_t stride = binned_stride (shape);
    Memory pixels = TRY (allocate (Device::cpu, stride * shape.height));
    for (int y = 0; y < shape.height; y++) {
      if (is_set (job_.cancelled))
        return stopped ();
      std::uint8_t *const row = pixels.get () + y * stride;
      std::memset (row, 0, stride);
      for (unsigned x = 0; shape.pixel == Type::u8 && x < stride; x++)
        row[x] = std::uint8_t ((x * 7 + unsigned (y) * 13) % unsigned (shape.bins));
    }
    return pixels;
  }

#if INTHIST_CUDA
  Outcome<Memory> uploaded (const std::uint8_t *pixels) const
  {
    const std::size_t bytes = binned_stride (job_.shape) * job_.shape.height;
    const Stream stream = slots_.front ().stream.get ();
    Memory image = TRY (allocate (Device::cuda, bytes));
    for (std::size_t at = 0; at < bytes; at += kPiece) {
      if (is_set (job_.cancelled))
        return stopped ();
      TRY (cuda::check (cudaMemcpyAsync (image.get () + at, pixels + at,
                                         std::min (kPiece, bytes - at), cudaMemcpyHostToDevice,
                                         stream)));
      TRY (cuda::check (cudaStreamSynchronize (stream)));
    }
    return image;
  }
#endif

  Outcome<> reserve (std::size_t bytes)
  {
    if (bytes <= workspace_bytes_ && slots_.front ().workspace)
      return {};
    workspace_bytes_ = 0;
    for (Slot &slot : slots_)
      slot.workspace.reset ();
    for (Slot &slot : slots_)
      slot.workspace = TRY (allocate (device_, bytes));
    workspace_bytes_ = bytes;
    return {};
  }

  const Device device_;
  const Job job_;
  Memory image_ = { nullptr, std::free };
  std::size_t workspace_bytes_ = 0;
  std::vector<Slot> slots_;
};

/// Measures the candidate strategies for one shape, until the time is up or the caller cancels.
class Trial {
public:
  Trial (Bench &bench, Watchdog &watchdog, Device device, int slots, Clock::time_point start,
         double budget)
      : bench_ (bench), watchdog_ (watchdog), device_ (device), slots_ (slots), start_ (start),
        budget_ (budget)
  {
  }

  /// Returns the fastest candidate strategy, but the first one that runs (the default) unless
  /// another is clearly faster (kClearly).
  Outcome<Choice> choose (const std::vector<Choice> &candidates)
  {
    TRY (try_all (candidates));
    // strategies are timed in turns, because other work may slow the machine for a while
    for (int round = 0; round < kRounds && entrants_.size () > 1; round++) {
      double of_first = 0;
      for (Entrant &entrant : entrants_) {
        const auto seconds = sample (entrant.choice, frames_of (entrant.choice.seconds), kForEver);
        if (!seconds && watchdog_.is_cancelled ())
          return stopped ();
        if (!seconds)
          return winner ();
        entrant.choice.seconds = std::min (entrant.choice.seconds, *seconds);
        if (&entrant == &entrants_.front ())
          of_first = *seconds;
        else if (*seconds < kClearly * of_first)
          entrant.won++;
        else
          entrant.lost = true;
      }
      std::erase_if (entrants_, [] (const Entrant &entrant) { return entrant.lost; });
    }
    return winner ();
  }

private:
  struct Entrant {
    Choice choice;
    int won = 0;        // rounds in which a strategy was clearly faster than the default
    bool lost = false;  // a round
  };

  /// Runs each candidate strategy twice, and keeps those that are not too slow (kHopeless).
  Outcome<> try_all (const std::vector<Choice> &candidates)
  {
    std::string why = "no strategy takes the shape";
    double best = kForEver;
    for (const Choice &candidate : candidates) {
      const auto seconds = try_one (candidate, kHopeless * best);
      if (watchdog_.is_cancelled ())
        return stopped ();
      if (!seconds) {
        why = std::string ("no strategy could be run; the last, ") + candidate.strategy->name + ": "
              + seconds.error ().text;
        continue;
      }
      if (*seconds > kHopeless * best)
        continue;
      best = std::min (best, *seconds);
      entrants_.push_back ({ { candidate.strategy, candidate.tuning, *seconds } });
    }
    if (entrants_.empty ())
      return failure (is_over () ? "the time was too short for a frame" : why);
    return {};
  }

  /// Runs two frames with a strategy and returns the seconds of the faster one. On CUDA the first
  /// frame also loads the kernels, so the limit applies only to the second.
  Outcome<double> try_one (const Choice &candidate, double limit)
  {
    const double first = TRY (sample (candidate, 1, device_ == Device::cuda ? kForEver : limit));
    if (device_ == Device::cpu && first > limit)
      return first;
    const auto second = sample (candidate, 1, limit);
    return second ? std::min (first, *second) : first;
  }

  /// Returns the mean seconds of n frames with a strategy. Stops after `limit` seconds, or when the
  /// tuner's time is up.
  Outcome<double> sample (const Choice &candidate, int n, double limit)
  {
    const double left = budget_ - seconds_since (start_);
    if (left <= 0)
      return stopped ();
    watchdog_.allow (std::min (limit, left));
    const double seconds = TRY (bench_.time (candidate, n));
    if (watchdog_.is_cancelled ())
      return stopped ();
    return seconds / n;
  }

  Choice winner () const
  {
    const Entrant *best = &entrants_.front ();
    for (const Entrant &entrant : entrants_)
      if (entrant.won >= kMinWon && !entrant.lost && entrant.choice.seconds < best->choice.seconds)
        best = &entrant;
    return best->choice;
  }

  bool is_over () const { return seconds_since (start_) > budget_; }

  int frames_of (double seconds) const
  {
    const auto frames_in = [&] (double time) { return int (std::min (time / seconds, 1e6)); };
    const int in_flight = std::clamp (frames_in (kInFlight), 1, slots_);
    return std::clamp (frames_in (kSample), in_flight, std::max (kMaxFrames, slots_));
  }

  Bench &bench_;
  Watchdog &watchdog_;
  const Device device_;
  const int slots_;
  const Clock::time_point start_;
  const double budget_;
  std::vector<Entrant> entrants_;
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
  Watchdog watchdog (cancelled);
  const auto choose = [&] () -> Outcome<Choice> {
    TRY (watchdog.start ());
    Bench bench (device, { .shape = shape,
                           .layout = layout,
                           .pixels = {},
                           .tensor = tensor,
                           .cancelled = watchdog.flag () });
    TRY (bench.open (slots));
    return Trial (bench, watchdog, device, slots, start, budget)
        .choose (candidates (device, shape));
  };
  const auto choice = choose ();
  if (!choice)
    return unexpected<Untuned> (Untuned{ choice.error ().text, watchdog.is_cancelled () });
  return *choice;
}

}  // namespace inthist
