// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Histograms and tables on the CPU when somebody asks (on_demand_tensor.hpp). The streaming thread
// copies a byte a pixel; then the buffer is no longer needed. Who asks computes.
//
// Where consumers ask for whole tensors, frame after frame, an eager engine computes the next frame
// while they look at this one. What they ask of its tensors tells when that ends.
#include "on_demand_engine.hpp"

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
          demand_.note_computed (*part);
    }
    return tensor_->ask (queries);
  }
  Expected<const void *> host () override
  {
    {
      const std::lock_guard lock (mutex_);
      demand_.note_computed (demand_.frame ());
    }
    return tensor_->host ();
  }
  Expected<std::span<const Shard>> shards () override { return tensor_->shards (); }

private:
  const std::shared_ptr<OnDemandFrames> frames_;
  const std::shared_ptr<Tensor> tensor_;
  std::mutex mutex_;
  Demand demand_;
};

class OnDemandEngine final : public Engine {
public:
  using MakeEager = std::function<Expected<std::unique_ptr<Engine>> ()>;

  OnDemandEngine (const Options &options, MakeEager make_eager)
      : automatic_ (options.compute == Compute::automatic), make_eager_ (std::move (make_eager))
  {
  }

  Expected<> open (const inthist::Shape &shape, const inthist::Lut &lut, const Options &options)
  {
    TRY (check_threads (options.cancelled.get ()));
    Plan plan = TRY (plan_for (inthist::Device::cpu, shape, options.strategy, 0, 1, nullptr,
                               options.cancelled.get ()));
    plan.description += ", when somebody asks";
    frames_ = std::make_shared<OnDemandFrames> (shape, lut, plan);
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
  }

  Expected<SubmittedFrame> submit (const Frame &frame) override
  {
    if (TRY (is_eager ())) {
      auto submitted = eager ()->submit (frame);
      if (submitted)
        submitted->tensor =
            std::make_shared<ObservedTensor> (frames_, std::move (submitted->tensor));
      if (submitted || submitted.error ().kind != Error::Kind::no_memory)
        return submitted;
      stay_on_demand (submitted.error ());
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
    const std::lock_guard lock (mutex_);
    flushing_ = flushing;
    if (eager_)
      eager_->set_flushing (flushing);
  }

  Expected<> finish () override
  {
    const auto engine = eager ();
    return engine ? engine->finish () : Expected<> ();
  }

  bool has_failed () override
  {
    const auto engine = eager ();
    return engine && engine->has_failed ();
  }

  void abandon () override
  {
    if (const auto engine = eager ())
      engine->abandon ();
  }

  Stats stats () override
  {
    const std::lock_guard lock (mutex_);
    Stats stats = eager_ ? eager_->stats () : Stats ();
    stats.backend = "cpu";
    stats.when = eager_now_ ? "eager" : "on-demand";
    stats.frames += stats_.frames;
    stats.in_flight += frames_->computing;
    stats.upload.add (stats_.upload);
    stats.compute.add (stats_.compute);
    stats.pixel_answers = frames_->pixels;
    stats.part_tensors = frames_->boxes;
    stats.tensors = frames_->wholes;
    stats.bytes_on_demand = frames_->bytes ();
    stats.compute.add (frames_->computed ());
    return stats;
  }

  const Plan &plan () const override { return frames_->plan; }

private:
  static constexpr unsigned kWholes = 4, kLess = 8, kIdle = 256;  // frames in a row

  /// Returns whether this frame is computed at once, by the frames before.
  Expected<bool> is_eager ()
  {
    if (!automatic_ || stays_on_demand_)
      return false;
    const OnDemandFrames::Row last = frames_->last ();
    const bool now = eager_now_ ? last.less < kLess : last.whole >= kWholes;
    if (last.less >= kIdle)
      TRY (drop_eager ());
    if (now != eager_now_)
      GST_DEBUG ("consumers %s: frames are computed %s",
                 now ? "ask for whole tensors" : "ask for less than whole tensors",
                 now ? "at once" : "when somebody asks");
    if (now && !eager ()) {
      frames_->memory->free_idle ();
      auto engine = make_eager_ ();
      if (!engine && engine.error ().kind == Error::Kind::flushing)
        return tl::make_unexpected (engine.error ());
      if (!engine) {
        stay_on_demand (engine.error ());
        return false;
      }
      const std::lock_guard lock (mutex_);
      (*engine)->set_flushing (flushing_);
      eager_ = std::move (*engine);
    }
    const std::lock_guard lock (mutex_);
    eager_now_ = now;
    return now;
  }

  /// To compute ahead is to be faster, no more: where it fails, frames wait for questions.
  void stay_on_demand (const Error &why)
  {
    GST_INFO ("frames are computed when somebody asks: %s", why.message.c_str ());
    stays_on_demand_ = true;
    {
      const std::lock_guard lock (mutex_);
      eager_now_ = false;
    }
    (void) drop_eager ();  // what failed is told by its frames
  }

  /// Frees the eager engine's memory, once its frames are done.
  Expected<> drop_eager ()
  {
    const auto engine = eager ();
    if (!engine)
      return {};
    auto outcome = engine->finish ();
    const Stats last = engine->stats ();
    const std::lock_guard lock (mutex_);
    stats_.frames += last.frames;
    stats_.upload.add (last.upload);
    stats_.compute.add (last.compute);
    eager_ = nullptr;  // `engine` is the last, and goes without the lock
    return outcome;
  }

  /// Returns the eager engine; null where there is none.
  std::shared_ptr<Engine> eager ()
  {
    const std::lock_guard lock (mutex_);
    return eager_;
  }

  const bool automatic_;
  const MakeEager make_eager_;
  std::shared_ptr<OnDemandFrames> frames_;
  std::shared_ptr<TensorPool> pool_;
  // the streaming thread's
  bool stays_on_demand_ = false;

  std::mutex mutex_;  // guards all below
  std::shared_ptr<Engine> eager_;
  bool eager_now_ = false, flushing_ = false;
  Stats stats_;
};

}  // namespace

Expected<std::unique_ptr<Engine>>
make_on_demand_engine (const inthist::Shape &shape, const inthist::Lut &lut, const Options &options,
                       std::function<Expected<std::unique_ptr<Engine>> ()> make_eager)
{
  auto engine = std::make_unique<OnDemandEngine> (options, std::move (make_eager));
  TRY (engine->open (shape, lut, options));
  return engine;
}

}  // namespace integralhist
