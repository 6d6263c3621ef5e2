// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Histograms and tables on the CPU when somebody asks (on_demand_tensor.hpp). The streaming thread
// copies a byte a pixel; then the buffer is no longer needed. Who asks computes.
//
// Where consumers ask for whole tensors, frame after frame, an eager engine computes the next frame
// while they look at this one. What they ask of its tensors tells when that ends.
#include "on_demand_engine.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>

#include "check_threads.hpp"
#include "log.hpp"
#include "on_demand_tensor.hpp"
#include "tensor_pool.hpp"
#include "tuning_cache.hpp"

namespace integralhist {
namespace {

/// An eager engine's tensor that notes whether, on demand, it would have been computed whole.
class ObservedTensor final : public Tensor {
public:
  ObservedTensor (std::shared_ptr<OnDemandFrames> frames, std::shared_ptr<Tensor> tensor)
      : Tensor (tensor->shape), frames_ (std::move (frames)), tensor_ (std::move (tensor)),
        demand_ (shape)
  {
    layout = tensor_->layout;
  }
  ~ObservedTensor () override { frames_->note (demand_.is_whole ()); }

  Expected<> wait (GstClockTime timeout) override { return tensor_->wait (timeout); }
  Expected<> ask (std::span<const Query> queries) override
  {
    {
      const std::lock_guard lock (mutex_);
      for (const Query &query : queries)
        if (const auto part = demand_.tensor_for (query))
          note (*part);
    }
    return tensor_->ask (queries);
  }
  Expected<const void *> host () override
  {
    {
      const std::lock_guard lock (mutex_);
      note (demand_.frame ());
    }
    return tensor_->host ();
  }
  Expected<std::span<const Shard>> shards () override { return tensor_->shards (); }

private:
  void note (const Region &part)
  {
    if (!demand_.is_whole ())
      demand_.note_computed (part);
  }

  const std::shared_ptr<OnDemandFrames> frames_;
  const std::shared_ptr<Tensor> tensor_;
  std::mutex mutex_;
  Demand demand_;
};

class OnDemandEngine final : public Engine {
public:
  explicit OnDemandEngine (const Options &options)
      : automatic_ (options.compute == Compute::automatic)
  {
  }

  Expected<> open (const inthist::Shape &shape, const inthist::Lut &lut, const Options &options,
                   WholeEngine whole)
  {
    TRY (check_threads (options.cancelled.get ()));
    const inthist::Strategy *const strategy =
        options.strategy && options.strategy->device == inthist::Device::cpu ? options.strategy
                                                                             : nullptr;
    Plan plan = TRY (
        plan_for (inthist::Device::cpu, shape, strategy, 0, 1, nullptr, options.cancelled.get ()));
    plan.description += ", when somebody asks";
    backend_ = whole.backend;
    engine_ = std::make_shared<WholeFrames> (std::move (whole.make));
    frames_ = std::make_shared<OnDemandFrames> (shape, lut, plan, engine_, whole.takes_wholes);
    pool_ = TRY (TensorPool::create (
        [frames = frames_, cancelled = options.cancelled] (unsigned alive) {
          return OnDemandTensor::create (frames, alive, cancelled);
        },
        options));
    return {};
  }

  ~OnDemandEngine () override
  {
    if (pool_)
      pool_->close ();
    if (engine_)
      engine_->set_flushing (false);  // who still has a tensor may ask for all of it
  }

  Expected<SubmittedFrame> submit (const Frame &frame) override
  {
    if (frame.place == Place::device)
      return engine_->submit (frame);
    if (is_eager ()) {
      auto submitted = engine_->submit (frame);
      if (submitted)
        submitted->tensor =
            std::make_shared<ObservedTensor> (frames_, std::move (submitted->tensor));
      if (submitted || submitted.error ().kind == Error::Kind::flushing)
        return submitted;
      // to compute ahead is to be faster, no more: where it fails, frames wait for questions
      GST_INFO ("frames are computed when somebody asks: %s", submitted.error ().message.c_str ());
      stays_on_demand_ = true;
      eager_now_ = false;
      (void) drop_engine ();  // what failed is told by its frames
    }
    const auto start = std::chrono::steady_clock::now ();
    auto tensor = std::static_pointer_cast<OnDemandTensor> (TRY (pool_->acquire ()));
    TRY (tensor->keep (frame.image));
    const std::lock_guard lock (mutex_);
    stats_.frames++;
    stats_.upload.add (
        std::chrono::nanoseconds (std::chrono::steady_clock::now () - start).count ());
    return SubmittedFrame{ std::move (tensor) };
  }

  void set_flushing (bool flushing) override
  {
    pool_->set_flushing (flushing);
    engine_->set_flushing (flushing);
  }

  Expected<> finish () override
  {
    const auto engine = engine_->engine ();
    return engine ? engine->finish () : Expected<> ();
  }

  bool has_failed () override
  {
    const auto engine = engine_->engine ();
    return engine && engine->has_failed ();
  }

  void abandon () override
  {
    if (const auto engine = engine_->engine ())
      engine->abandon ();
  }

  Stats stats () override
  {
    const auto engine = engine_->engine ();
    Stats stats = engine ? engine->stats () : Stats ();
    stats.backend = backend_;
    stats.when = eager_now_ ? "eager" : "on-demand";
    stats.pixel_answers = frames_->pixels;
    stats.part_tensors = frames_->boxes;
    stats.tensors = frames_->wholes;
    stats.bytes_on_demand = frames_->bytes ();
    stats.in_flight += frames_->computing;
    stats.compute.add (frames_->computed ());
    const std::lock_guard lock (mutex_);
    stats.frames += stats_.frames;
    if (frames_->takes_wholes)  // the engine has counted them again
      stats.frames -= std::min<guint64> (stats.frames, frames_->wholes);
    stats.upload.add (stats_.upload);
    stats.compute.add (stats_.compute);
    return stats;
  }

  const Plan &plan () const override { return frames_->plan; }

private:
  static constexpr unsigned kWholes = 4, kLess = 8, kIdle = 256;  // frames in a row

  /// Returns whether this frame is computed at once, by the frames before.
  bool is_eager ()
  {
    if (!automatic_ || stays_on_demand_)
      return false;
    const OnDemandFrames::Row last = frames_->last ();
    const bool now = eager_now_ ? last.less < kLess : last.whole >= kWholes;
    if (now && !eager_now_)
      frames_->memory->free_idle ();
    if (now != eager_now_)
      GST_DEBUG ("consumers %s: frames are computed %s",
                 now ? "ask for whole tensors" : "ask for less than whole tensors",
                 now ? "at once" : "when somebody asks");
    if (last.less >= kIdle && engine_->engine ())
      (void) drop_engine ();
    return eager_now_ = now;
  }

  /// Frees the engine's memory, once its frames are done.
  Expected<> drop_engine ()
  {
    const Stats last = TRY (engine_->drop ());
    const std::lock_guard lock (mutex_);
    stats_.frames += last.frames;
    stats_.upload.add (last.upload);
    stats_.compute.add (last.compute);
    return {};
  }

  const bool automatic_;
  const char *backend_ = "cpu";
  std::shared_ptr<WholeFrames> engine_;
  std::shared_ptr<OnDemandFrames> frames_;
  std::shared_ptr<TensorPool> pool_;
  bool stays_on_demand_ = false;  // the streaming thread's
  std::atomic<bool> eager_now_ = false;

  std::mutex mutex_;  // guards all below
  Stats stats_;
};

}  // namespace

Expected<std::unique_ptr<Engine>> make_on_demand_engine (const inthist::Shape &shape,
                                                         const inthist::Lut &lut,
                                                         const Options &options, WholeEngine whole)
{
  auto engine = std::make_unique<OnDemandEngine> (options);
  TRY (engine->open (shape, lut, options, std::move (whole)));
  return engine;
}

}  // namespace integralhist
