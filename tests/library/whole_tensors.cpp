// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The whole-tensor engine of frames on demand, over engines of the test: they compute or fail when
// the test says so. Their counts are the truth.
#include <gst/integralhist/host/host_fence.hpp>
#include <gst/integralhist/on_demand/on_demand_engine.hpp>
#include <gst/integralhist/on_demand/whole_tensors.hpp>

#include <atomic>
#include <optional>
#include <thread>

#include "cancellable.hpp"
#include "must.hpp"

#include "test.hpp"  // last: it has macros with names of the standard library

using namespace integralhist;

namespace {

using Kind = Error::Kind;

/// The state that the engines of a test share: what they shall do, and what they have done.
struct Devices {
  std::shared_ptr<HostFence> computed = std::make_shared<HostFence> ();  // of all tensors
  std::optional<Kind> make_fails, submit_fails;
  std::atomic<bool> has_failed = false;
  std::atomic<int> made = 0, alive = 0, submitted = 0;
};

class FakeTensor final : public Tensor {
public:
  explicit FakeTensor (std::shared_ptr<HostFence> computed)
      : Tensor ({ 8, 4, 1 }), computed_ (std::move (computed))
  {
  }

  Expected<> wait (GstClockTime timeout) override { return computed_->wait (timeout); }
  Expected<> ask (std::span<const Query>) override { return {}; }
  Expected<const void *> host () override { return nullptr; }

private:
  const std::shared_ptr<HostFence> computed_;
};

class FakeEngine final : public Engine {
public:
  explicit FakeEngine (Devices &devices) : devices_ (devices)
  {
    devices_.made++;
    devices_.alive++;
  }
  ~FakeEngine () override { devices_.alive--; }

  Expected<SubmittedFrame> submit (const Frame &) override
  {
    devices_.submitted++;
    if (devices_.submit_fails)
      return error (*devices_.submit_fails, "as the test says");
    frames_++;
    return SubmittedFrame{ std::make_shared<FakeTensor> (devices_.computed) };
  }
  bool has_failed () override { return devices_.has_failed; }
  Stats stats () override
  {
    Stats stats;
    stats.frames = frames_;
    stats.parts = { { 3, stats.frames } };
    stats.compute.add (stats.frames);
    return stats;
  }
  const StrategyPlan &plan () const override { return plan_; }

private:
  Devices &devices_;
  const StrategyPlan plan_ = {};
  std::atomic<guint64> frames_ = 0;
};

LazyEngine::Make maker (Devices &devices)
{
  return [&devices] () -> Expected<std::shared_ptr<Engine>> {
    if (devices.make_fails)
      return error (*devices.make_fails, "as the test says");
    return std::make_shared<FakeEngine> (devices);
  };
}

std::optional<Kind> failure_of (WholeTensors &frames)
{
  const auto tensor = frames.compute ({});
  return tensor ? std::optional<Kind> () : tensor.error ().kind;
}

/// Computes a frame.
struct Asker : Cancellable<std::optional<Kind>> {
  explicit Asker (WholeTensors &frames) : Cancellable ([&frames] { return failure_of (frames); }) {}
};

}  // namespace

/// A question ends when its own thread is cancelled, whether its frame is computed or waits for
/// another. No other question ends, and the engine goes on.
TEST (cancelled)
{
  Devices devices;
  WholeTensors frames (maker (devices), inthist::Device::cpu);
  {
    Asker first (frames);
    while (devices.submitted == 0)
      g_usleep (1000);
    Asker second (frames), third (frames);
    fail_unless (!first.is_done_after (kShortWait) && !second.done && devices.submitted == 1);
    second.cancelled = true;
    fail_unless (second.is_done_after (kLongWait) && second.outcome == Kind::flushing);
    fail_unless (!first.is_done_after (kShortWait) && !third.done && devices.submitted == 1);
    first.cancelled = true;
    fail_unless (first.is_done_after (kLongWait) && first.outcome == Kind::flushing);
    fail_unless (!third.is_done_after (kShortWait));
    devices.computed->signal ({});
    fail_unless (third.is_done_after (kLongWait) && !third.outcome);
  }
  fail_unless (!failure_of (frames) && devices.made == 1 && devices.submitted == 3);
}

/// The caller gets the error of its question. The next question gets another engine, unless only a
/// frame was refused.
TEST (failures)
{
  Devices devices;
  devices.computed->signal ({});
  WholeTensors frames (maker (devices), inthist::Device::cpu);
  devices.make_fails = Kind::no_memory;
  fail_unless (failure_of (frames) == Kind::no_memory && devices.made == 0);
  devices.make_fails = {};
  fail_unless (!failure_of (frames) && devices.made == 1);

  devices.submit_fails = Kind::no_memory;
  fail_unless (failure_of (frames) == Kind::no_memory);
  devices.submit_fails = {};
  fail_unless (!failure_of (frames) && devices.made == 1, "a refusal costs the engine");

  devices.submit_fails = Kind::failed;
  fail_unless (failure_of (frames) == Kind::failed && devices.alive == 0);
  devices.submit_fails = {};
  fail_unless (!failure_of (frames) && devices.made == 2);

  devices.computed = std::make_shared<HostFence> ();
  devices.computed->signal (error (Kind::failed, "as the test says"));
  fail_unless (failure_of (frames) == Kind::failed && devices.alive == 0);
  devices.computed = std::make_shared<HostFence> ();
  devices.computed->signal (error (Kind::no_memory, "as the test says"));
  devices.has_failed = true;
  fail_unless (failure_of (frames) == Kind::no_memory && devices.alive == 0);
  devices.has_failed = false;
  devices.computed = std::make_shared<HostFence> ();
  devices.computed->signal ({});
  fail_unless (!failure_of (frames) && devices.made == 4);
  fail_unless_equals_uint64 (frames.stats ().frames, 6);  // of all four engines
}

/// Once the stream has ended, an engine lives no longer than the question that it is made for.
TEST (end)
{
  Devices devices;
  WholeTensors frames (maker (devices), inthist::Device::cpu);
  frames.end ();
  fail_unless (devices.made == 0);
  {
    Asker asker (frames);
    while (devices.submitted == 0)
      g_usleep (1000);
    frames.end ();
    devices.computed->signal ({});
    fail_unless (asker.is_done_after (kLongWait) && !asker.outcome);
  }
  fail_unless (devices.made == 1 && devices.alive == 0);
  fail_unless (!failure_of (frames) && devices.made == 2 && devices.alive == 0);
}

/// A reader of the counts finds each frame once, also while engines come and go.
TEST (counts)
{
  Devices devices;
  LazyEngine engine (maker (devices));
  std::atomic<guint64> submitted = 0;
  std::atomic<bool> done = false, wrong = false;
  std::thread reader ([&] {
    while (!done) {
      const guint64 before = submitted;
      const Stats stats = engine.stats ();
      const guint64 after = submitted + 1;  // which may be in the engine already
      wrong = wrong || stats.frames < before || stats.frames > after
              || stats.compute.sum != stats.frames
              || (stats.frames > 0
                  && (stats.parts.size () != 1 || stats.parts[0].parts != stats.frames));
    }
  });
  for (int i = 0; i < 500; i++) {
    must (must (engine.ensure ())->submit ({}));
    submitted++;
    engine.drop ();
  }
  done = true;
  reader.join ();
  fail_unless (!wrong && devices.made == 500 && devices.alive == 0);
  fail_unless_equals_uint64 (engine.stats ().frames, 500);
}

/// If a device's eager engine finds no memory at the start, frames wait for questions; other
/// failures stay errors.
TEST (no_memory_at_the_start)
{
  class OtherMemory final : public DeviceStore {
    bool takes (const Frame &) const override { return false; }
    Expected<std::unique_ptr<EngineTensor>> make (const std::shared_ptr<OnDemandShared> &) override
    {
      return error (Kind::failed, "nothing lies there");
    }
    Expected<MemoryReturns *> returns () override { return nullptr; }
    Expected<SubmittedFrame> keep (const Frame &, std::shared_ptr<EngineTensor>) override
    {
      return error (Kind::failed, "nothing lies there");
    }
    int device () const override { return 0; }
    guint64 bytes () const override { return 0; }
  };
  const inthist::Shape shape = {
    8, 4, 2, inthist::Type::u32, inthist::Content::bins, inthist::Type::u8
  };
  const Options options = { .compute = Compute::automatic };
  for (const Kind kind : { Kind::no_memory, Kind::failed }) {
    Devices devices;
    devices.make_fails = kind;
    auto engine = make_on_demand_engine (shape, inthist::uniform_lut (2), options, maker (devices),
                                         nullptr, std::make_unique<OtherMemory> ());
    fail_unless (engine.has_value () == (kind == Kind::no_memory));
    if (!engine) {
      fail_unless (engine.error ().kind == kind);
      continue;
    }
    devices.make_fails = {};  // it stays as it is
    const std::vector<guint8> pixels (8 * 4, 200);
    Frame frame;
    frame.image = { pixels.data (), 8, {} };
    for (int i = 0; i < 10; i++) {
      const auto tensor = must ((*engine)->submit (frame)).tensor;
      guint32 counts[2] = {};
      const inthist::Region all = { 1, 1, 5, 2 };
      const Query query = { .kind = inthist::QueryKind::counts,
                            .windows = { &all, 1, {} },
                            .answers = counts };
      must (tensor->ask ({ &query, 1 }));
      fail_unless (counts[0] == 0 && counts[1] == 10);
    }
    fail_unless_equals_int (devices.made, 0);
    fail_unless_equals_string ((*engine)->stats ().compute_mode, "on-demand");
    fail_unless_equals_string ((*engine)->stats ().compute_mode_reason,
                               "to compute ahead has failed");
  }
}
