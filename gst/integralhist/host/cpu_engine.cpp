// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The engine that computes tensors (integral histograms and summed-area tables) on the CPU. The
// streaming thread turns pixels into bin indices, in 1 % of the time, and then releases the frame's
// buffer. A worker thread fills the tensor on all cores.
#include "cpu_engine.hpp"

#include <deque>

#include <kernels/clock.hpp>

#include <gst/integralhist/base/cancel.hpp>
#include <gst/integralhist/base/check_threads.hpp>
#include <gst/integralhist/base/log.hpp>
#include <gst/integralhist/base/thread.hpp>
#include <gst/integralhist/engine/part.hpp>
#include <gst/integralhist/engine/strategy_choice.hpp>
#include <gst/integralhist/engine/tensor_pool.hpp>
#include <gst/integralhist/memory/memory_messages.hpp>

#include "cpu_tensor.hpp"

namespace integralhist {
namespace {

class CpuEngine final : public PartEngine {
public:
  CpuEngine (const Shape &shape, const Lut &lut, const Options &options, const PartLimit &limit)
      : shape_ (shape), largest_part_ (limit.of (shape)), lut_ (lut), slots_ (options.async_depth)
  {
  }

  Expected<> open (const Options &options)
  {
    const auto make = [shape = largest_part_] (unsigned alive) {
      return CpuTensor::create (shape, alive);
    };
    pool_ = TRY (TensorPool::create (make, options));
    TRY (check_threads ());
    const auto first = TRY (pool_->acquire ());
    plan_ = TRY (choose_strategy (Device::cpu, largest_part_, options.strategy, options.tuning_time,
                                  1, static_cast<CpuTensor &> (*first).data ()));
    const PartMemory memory =
        part_memory_of (largest_part_, plan_.choice.strategy, plan_.choice.tuning);
    for (Slot &slot : slots_) {
      slot.pixels = TRY (allocate (memory.pixels));
      slot.workspace = TRY (allocate (memory.workspace));
      idle_.push_back (&slot);
    }
    if (largest_part_.height < shape_.height)
      above_.resize (memory.above / sizeof (std::uint32_t));
    worker_ = TRY (Thread::start ("integralhist-cpu", [this] { work (); }));
    return {};
  }

  ~CpuEngine () override
  {
    {
      const std::lock_guard lock (mutex_);
      stopping_ = true;
      changed_.notify_all ();
    }
    worker_.join ();
    if (pool_)
      pool_->close ();
  }

  Expected<SubmittedFrame> submit (const Frame &frame) override
  {
    return SubmittedFrame{ TRY (
        submit_part (PartFrame{ frame }, { 0, shape_.bins, 0, shape_.height }, nullptr)) };
  }

  bool is_free () override
  {
    const std::lock_guard lock (mutex_);
    return !idle_.empty () && !pool_->is_exhausted ();
  }

  Expected<std::shared_ptr<EngineTensor>> submit_part (const PartFrame &frame, const Part &part,
                                                       std::byte *host) override
  {
    const auto tensor = std::static_pointer_cast<CpuTensor> (TRY (pool_->acquire ()));
    tensor->begin ();
    tensor->set_shape (shape_of_part (shape_, part.bins, part.rows));

    Slot *const slot = TRY (take_idle_slot ());
    const auto start = inthist::Clock::now ();
    const Binning binning = { rows_of_part (frame.image, part),
                              lut_of_part (frame.lut_or (lut_), shape_, part) };
    const auto binned =
        check_host (inthist::cpu::bin_image (binning, shape_.width, part.rows, pixels_of (*slot)));
    const std::lock_guard lock (mutex_);
    if (!binned) {
      idle_.push_back (slot);
      return tl::make_unexpected (binned.error ());
    }
    slot->tensor = tensor;
    slot->destination = { host, shape_, part };
    stats_.frames++;
    stats_.upload.add (inthist::nanoseconds_since (start));
    queue_.push_back (slot);
    changed_.notify_all ();
    return tensor;
  }

  Expected<> finish () override
  {
    std::unique_lock lock (mutex_);
    (void) CancelScope::wait (changed_, lock, [this] { return queue_.empty () && !running_; });
    return std::exchange (outcome_, {});
  }

  void abandon () override
  {
    // Declared before the lock, so that dropped tensors return to the pool after the unlock.
    std::vector<std::shared_ptr<CpuTensor>> dropped;
    const std::lock_guard lock (mutex_);
    const auto is_unheld = [] (const Slot *slot) { return slot->tensor.use_count () == 1; };
    for (Slot *slot : queue_)
      if (is_unheld (slot)) {
        dropped.push_back (std::move (slot->tensor));
        idle_.push_back (slot);
      }
    std::erase_if (queue_, [] (const Slot *slot) { return !slot->tensor; });
    if (running_ && is_unheld (running_))
      given_up_ = true;
    changed_.notify_all ();
  }

  Stats stats () override
  {
    const std::lock_guard lock (mutex_);
    Stats stats = stats_;
    stats.backend = "cpu";
    stats.in_flight = slots_.size () - idle_.size ();
    return stats;
  }

  const StrategyPlan &plan () const override { return plan_; }

private:
  struct Slot {
    HostMemory pixels, workspace;
    std::shared_ptr<CpuTensor> tensor;
    HostDestination destination;
  };

  static Expected<HostMemory> allocate (std::size_t bytes)
  {
    return allocate_on_host (bytes, [bytes] (const Available &available) {
      return no_memory_text ("what a frame in flight needs besides its tensor", bytes, available)
             + ": lower async-depth";
    });
  }

  /// Waits until a slot is idle, and takes it.
  Expected<Slot *> take_idle_slot ()
  {
    std::unique_lock lock (mutex_);
    if (idle_.empty ())
      GST_LOG ("all %zu slots are in flight: waiting for one", slots_.size ());
    TRY (CancelScope::wait (changed_, lock, [this] { return !idle_.empty (); }));
    Slot *const slot = idle_.back ();
    idle_.pop_back ();
    return slot;
  }

  PixelPlane pixels_of (const Slot &slot) const
  {
    return { reinterpret_cast<std::uint8_t *> (slot.pixels.get ()),
             inthist::binned_stride (shape_) };
  }

  Expected<> compute (const Slot &slot)
  {
    CpuTensor &tensor = *slot.tensor;
    TRY (check_host (inthist::run (*plan_.choice.strategy, { .shape = tensor.shape,
                                                             .layout = tensor.layout,
                                                             .pixels = pixels_of (slot),
                                                             .tensor = tensor.data (),
                                                             .workspace = slot.workspace.get (),
                                                             .tuning = plan_.choice.tuning,
                                                             .cancelled = &given_up_ })));
    const Part &part = slot.destination.part;
    if (part.rows < shape_.height) {
      if (part.first_row == 0)
        std::ranges::fill (above_, 0);
      TRY (check_host (
          inthist::cpu::add_above (tensor.shape, tensor.layout, tensor.data (), above_.data ())));
    }
    if (slot.destination.tensor)
      slot.destination.copy (tensor.data ());
    return {};
  }

  void work ()
  {
    std::unique_lock lock (mutex_);
    for (;;) {
      changed_.wait (lock, [this] { return stopping_ || !queue_.empty (); });
      if (queue_.empty ())
        return;
      Slot *slot = running_ = queue_.front ();
      queue_.pop_front ();
      given_up_ = false;
      lock.unlock ();

      const auto start = inthist::Clock::now ();
      const auto outcome = compute (*slot);
      const guint64 duration = inthist::nanoseconds_since (start);
      slot->tensor->finish (outcome);

      lock.lock ();
      running_ = nullptr;
      if (outcome_)
        outcome_ = outcome;
      auto tensor = std::move (slot->tensor);
      stats_.compute.add (duration);
      idle_.push_back (slot);
      changed_.notify_all ();
      lock.unlock ();
      tensor.reset ();  // destroyed without the lock, because that may free much memory
      lock.lock ();
    }
  }

  const Shape shape_, largest_part_;  // shape_ is the shape of a whole frame
  const Lut lut_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> above_;  // integral histogram in the row above a strip
  std::shared_ptr<TensorPool> pool_;
  StrategyPlan plan_;

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::vector<Slot *> idle_;
  std::deque<Slot *> queue_;
  Slot *running_ = nullptr;
  std::atomic<bool> given_up_ = false;  // tells the worker to stop computing its frame
  Expected<> outcome_;                  // the first failure of any frame since finish ()
  Stats stats_;
  bool stopping_ = false;

  Thread worker_;
};

}  // namespace

Expected<std::unique_ptr<PartEngine>>
make_cpu_engine (const Shape &shape, const Lut &lut, const Options &options, const PartLimit &limit)
{
  auto engine = std::make_unique<CpuEngine> (shape, lut, options, limit);
  TRY (engine->open (options));
  return engine;
}

}  // namespace integralhist
