// SPDX-License-Identifier: LGPL-2.1-or-later
//
// An engine that computes histograms and tables when a consumer asks (on_demand_tensor.hpp). The
// streaming thread copies a byte a pixel, and then releases the buffer. On the CPU, the thread that
// asks computes the answer.
//
// If consumers ask for whole tensors, frame after frame, an eager engine computes the next frame
// while they look at the last one. Queries to its tensors show when that should end. With a GPU the
// eager engine also computes the first frames, and all frames that arrive in host memory.
#include "on_demand_engine.hpp"

#include <mutex>

#include <kernels/clock.hpp>

#include <gst/integralhist/base/check_threads.hpp>
#include <gst/integralhist/base/log.hpp>
#include <gst/integralhist/engine/strategy_choice.hpp>
#include <gst/integralhist/engine/tensor_pool.hpp>

#include "eager_tensor.hpp"
#include "host_on_demand_tensor.hpp"

namespace integralhist {
namespace {

/// The choice to compute frames at once (eagerly) or on demand, and the reason as text for users.
struct ComputeMode {
  bool is_eager;
  const char *reason;
};
constexpr ComputeMode kFirstFrames = { true, "the first frames" };
constexpr ComputeMode kHostMemory = { true, "frames in host memory" };
constexpr ComputeMode kOtherDevices = { true, "frames that other devices have, or share" };
constexpr ComputeMode kAllAsked = { true, "all is asked" };
constexpr ComputeMode kLessAsked = { false, "less than all is asked" };
constexpr ComputeMode kEagerFailed = { false, "to compute ahead has failed" };
constexpr ComputeMode kSet = { false, kModeSet };

class OnDemandEngine final : public Engine {
public:
  OnDemandEngine (const Options &options, LazyEngine::Make make_eager,
                  std::unique_ptr<DeviceStore> device_store)
      : options_ (options), automatic_ (options.compute == Compute::automatic),
        eager_ (std::move (make_eager)), device_store_ (std::move (device_store)),
        begins_eager_ (automatic_ && device_store_), mode_ (automatic_ ? &kLessAsked : &kSet)
  {
  }

  Expected<> open (const Shape &shape, const Lut &lut, const Options &options,
                   std::shared_ptr<WholeTensors> whole_tensors, std::optional<GpuAssist> assist)
  {
    if (begins_eager_) {
      const auto engine = eager_.ensure ();
      if (engine) {
        shared_ = std::make_shared<OnDemandShared> (shape, lut, (*engine)->plan (),
                                                    std::move (whole_tensors), std::nullopt);
        mode_ = &kFirstFrames;
        return {};
      }
      if (engine.error ().kind != Error::Kind::no_memory)
        return tl::make_unexpected (engine.error ());
      begins_eager_ = false;  // from now on, frames in host memory are computed on demand too
      stay_on_demand (engine.error ());
      set_mode (kEagerFailed);
    }
    TRY (check_threads ());
    const bool is_cpu = options.strategy && options.strategy->device == Device::cpu;
    StrategyPlan plan = TRY (
        choose_strategy (Device::cpu, shape, is_cpu ? options.strategy : nullptr, 0, 1, nullptr));
    plan.description += ", on demand";
    shared_ = std::make_shared<OnDemandShared> (shape, lut, plan, std::move (whole_tensors),
                                                std::move (assist));
    pool_ = TRY (TensorPool::create (
        [shared = shared_] (unsigned) { return HostOnDemandTensor::create (shared); }, options));
    return {};
  }

  ~OnDemandEngine () override
  {
    for (const auto &pool : { pool_, device_pool_ })
      if (pool)
        pool->close ();
    if (shared_ && shared_->whole_tensors)
      shared_->whole_tensors->end ();
  }

  Expected<SubmittedFrame> submit (const Frame &frame) override
  {
    const bool on_device = frame.location == PixelLocation::device;
    // A frame on another GPU is computed at once: to keep it, its pixels would have to be copied.
    const bool can_keep =
        on_device ? device_store_ && device_store_->takes (frame) : !begins_eager_;
    if (!can_keep) {
      TRY (eager_.ensure ());
      set_mode (on_device ? kOtherDevices : kHostMemory);
      return eager_.engine ()->submit (frame);
    }
    if (TRY (choose_mode ())) {
      auto submitted = submit_eagerly (frame);
      if (submitted || submitted.error ().kind != Error::Kind::no_memory)
        return submitted;
      stay_on_demand (submitted.error ());
    }
    return on_device ? keep_on_device (frame) : keep (frame);
  }

  Expected<> finish () override
  {
    const auto engine = eager_.engine ();
    return engine ? engine->finish () : Expected<> ();
  }

  bool has_failed () override
  {
    const auto engine = eager_.engine ();
    return engine && engine->has_failed ();
  }

  void abandon () override
  {
    if (const auto engine = eager_.engine ())
      engine->abandon ();
  }

  Stats stats () override
  {
    Stats stats = eager_.stats ();
    stats.backend = device_store_ ? "cuda" : "cpu";
    const ComputeMode &mode = *mode_;
    stats.compute_mode = mode.is_eager ? "eager" : "on-demand";
    stats.compute_mode_reason = mode.reason;
    if (shared_->whole_tensors) {
      if (shared_->whole_tensors->device == Device::cuda)
        stats.backend = "cuda";
      Stats asked = shared_->whole_tensors->stats ();
      asked.frames = 0;  // this engine counts the frames
      stats.add (asked);
    }
    if (device_store_)
      stats.device = std::max (stats.device, device_store_->device ());
    stats.in_flight += shared_->computing;
    stats.pixel_answers = shared_->pixel_answers;
    stats.device_answers = shared_->device_answers;
    stats.part_tensors = shared_->part_tensors;
    stats.tensors = shared_->tensors;
    stats.bytes_on_demand = shared_->bytes () + (device_store_ ? device_store_->bytes () : 0);
    stats.compute.add (shared_->time ());
    const std::lock_guard lock (mutex_);
    stats.add (stats_);
    return stats;
  }

  const StrategyPlan &plan () const override
  {
    // The reference to the eager engine's plan stays valid: only an engine with Compute::automatic
    // drops its eager engine, and such an engine has no whole_tensors.
    const auto engine = shared_->whole_tensors ? eager_.engine () : nullptr;
    return engine ? engine->plan () : shared_->plan;
  }

private:
  // How many frames in a row change the mode: kFramesToEager with queries for the whole frame begin
  // computing at once, kFramesToOnDemand with other queries end it, and kFramesToFree also free the
  // eager engine, which takes long to make again. Estimates.
  static constexpr unsigned kFramesToEager = 4, kFramesToOnDemand = 8, kFramesToFree = 256;

  Expected<SubmittedFrame> submit_eagerly (const Frame &frame)
  {
    auto submitted = TRY (eager_.engine ()->submit (frame));
    submitted.tensor = std::make_shared<EagerTensor> (
        shared_, std::move (submitted.tensor),
        frame.location == PixelLocation::device ? kGpuCost : kCpuCost);
    return submitted;
  }

  Expected<SubmittedFrame> keep (const Frame &frame)
  {
    const auto start = inthist::Clock::now ();
    auto tensor = std::static_pointer_cast<HostOnDemandTensor> (TRY (pool_->acquire ()));
    TRY (tensor->keep (frame));
    const std::lock_guard lock (mutex_);
    stats_.frames++;
    stats_.upload.add (inthist::nanoseconds_since (start));
    return SubmittedFrame{ std::move (tensor) };
  }

  Expected<SubmittedFrame> keep_on_device (const Frame &frame)
  {
    if (!device_pool_)
      device_pool_ = TRY (TensorPool::create (
          [this] (unsigned) { return device_store_->make (shared_); }, options_));
    MemoryReturns &returns = *TRY (device_store_->returns ());
    auto submitted = TRY (device_store_->keep (frame, TRY (device_pool_->acquire (returns))));
    const std::lock_guard lock (mutex_);
    stats_.frames++;
    return submitted;
  }

  /// Returns whether to compute the next frame at once, judged by the queries about earlier frames.
  Expected<bool> choose_mode ()
  {
    if (!automatic_ || stays_on_demand_) {
      set_mode (stays_on_demand_ ? kEagerFailed : kSet);
      return false;
    }
    const OnDemandShared::Streak streak = shared_->streak ();
    const bool was = mode_.load ()->is_eager,
               now = was ? streak.less < kFramesToOnDemand : streak.whole >= kFramesToEager;
    if (streak.less >= kFramesToFree)
      TRY (drop_eager ());
    if (now && !eager_.engine ()) {
      shared_->memory->free_idle ();
      const auto engine = eager_.ensure ();
      if (!engine && engine.error ().kind == Error::Kind::flushing)
        return tl::make_unexpected (engine.error ());
      if (!engine) {
        stay_on_demand (engine.error ());
        return false;
      }
    }
    if (now != was || streak.whole >= kFramesToEager)
      set_mode (now ? kAllAsked : kLessAsked);
    return now;
  }

  void set_mode (const ComputeMode &mode)
  {
    if (mode_.exchange (&mode) != &mode)
      GST_DEBUG ("frames are computed %s: %s", mode.is_eager ? "at once" : "on demand",
                 mode.reason);
  }

  /// Computes all further frames on demand after the eager engine, which only saves time, failed.
  void stay_on_demand (const Error &why)
  {
    GST_INFO ("to compute ahead fails: %s", why.message.c_str ());
    stays_on_demand_ = true;
    (void) drop_eager ();  // ignores errors, which each failed frame reports
  }

  Expected<> drop_eager ()
  {
    auto outcome = finish ();
    eager_.drop ();
    return outcome;
  }

  const Options options_;
  const bool automatic_;
  LazyEngine eager_;
  const std::unique_ptr<DeviceStore> device_store_;
  bool begins_eager_;  // whether to compute the first frames at once; constant after open ()
  std::shared_ptr<OnDemandShared> shared_;
  std::shared_ptr<TensorPool> pool_, device_pool_;  // used by the streaming thread
  bool stays_on_demand_ = false;                    // used by the streaming thread
  std::atomic<const ComputeMode *> mode_;           // written by the streaming thread

  std::mutex mutex_;  // guards stats_
  Stats stats_;       // of frames on demand
};

}  // namespace

Expected<std::unique_ptr<Engine>>
make_on_demand_engine (const Shape &shape, const Lut &lut, const Options &options,
                       LazyEngine::Make make_eager, std::shared_ptr<WholeTensors> whole_tensors,
                       std::unique_ptr<DeviceStore> device_store, std::optional<GpuAssist> assist)
{
  auto engine =
      std::make_unique<OnDemandEngine> (options, std::move (make_eager), std::move (device_store));
  TRY (engine->open (shape, lut, options, std::move (whole_tensors), std::move (assist)));
  return engine;
}

}  // namespace integralhist
