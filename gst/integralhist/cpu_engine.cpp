// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Histograms and tables on the CPU. The streaming thread turns pixels into bin indices, which takes a hundredth of the time, and then the input buffer is no longer
// needed; a worker thread, with all cores behind it, fills the tensor while the frame travels on.
#include "engine.hpp"

#include <deque>
#include <thread>

namespace integralhist {
namespace {

using inthist::PixelPlane;

class CpuTensor final : public Tensor {
public:
  CpuTensor (const inthist::Shape &of, unsigned alive)
      : Tensor (of), memory_ (allocate_on_host (
                         bytes (), [&] (std::size_t available) { return no_memory_for_tensor (of, bytes (), available, "host", alive); }))
  {
  }

  bool wait (GstClockTime timeout) override
  {
    std::unique_lock lock (mutex_);
    const auto done = [this] { return done_; };
    if (timeout == GST_CLOCK_TIME_NONE)
      changed_.wait (lock, done);
    else if (!changed_.wait_for (lock, std::chrono::nanoseconds (std::min<GstClockTime> (timeout, G_MAXINT64 / 4)), done))
      return false;
    if (!failure_.empty ())
      throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_FAILED, failure_);
    return true;
  }

  void ask (std::span<const Query> queries) override
  {
    wait (GST_CLOCK_TIME_NONE);
    answer_on_host (*this, memory_.get (), queries);
  }

  const void *host () override
  {
    wait (GST_CLOCK_TIME_NONE);
    return memory_.get ();
  }

  std::byte *data () { return memory_.get (); }

  /// `failure` is what to tell who waits, where it went wrong.
  void set_done (bool done, const std::string &failure = {})
  {
    const std::lock_guard lock (mutex_);
    done_ = done;
    failure_ = failure;
    changed_.notify_all ();
  }

private:
  const HostMemory memory_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::string failure_;
};

class CpuEngine final : public PartEngine {
public:
  CpuEngine (const inthist::Shape &shape, const inthist::Lut &lut, const Options &options, const Portion &portion)
      : shape_ (shape), most_ (portion.of (shape)), lut_ (lut), lanes_ (options.async_depth),
        pool_ (
            std::make_shared<TensorPool> ([most = most_] (unsigned alive) { return std::make_unique<CpuTensor> (most, alive); }, options)),
        plan_ (plan_for (inthist::Device::cpu, most_, options.strategy, options.tuning_time, 1,
                         static_cast<CpuTensor &> (*pool_->acquire ()).data ()))
  {
    const std::size_t plane = inthist::bin_stride (most_.width) * most_.height;
    const std::size_t workspace = plan_.choice.strategy->workspace_bytes (most_, plan_.choice.tuning);
    for (Lane &lane : lanes_) {
      for (const auto &[memory, bytes] : { std::pair{ &lane.pixels, plane }, std::pair{ &lane.workspace, workspace } })
        *memory = allocate_on_host (bytes, [bytes = bytes] (std::size_t available) {
          return no_memory ("what a frame in the making needs besides its tensor", bytes, available, "host") + ": lower async-depth";
        });
      idle_.push_back (&lane);
    }
    if (most_.height < shape.height)
      above_.resize (std::size_t (most_.bins) * shape.width);
    worker_ = std::jthread ([this] { work (); });
  }

  ~CpuEngine () override
  {
    {
      const std::lock_guard lock (mutex_);
      stopping_ = true;
      changed_.notify_all ();
    }
    worker_.join ();
    pool_->close ();
  }

  std::shared_ptr<Tensor> submit (const Frame &frame) override
  {
    return submit_part (frame, { 0, shape_.bins, 0, shape_.height }, nullptr);
  }

  bool is_free () override
  {
    const std::lock_guard lock (mutex_);
    return !idle_.empty () && !pool_->is_exhausted ();
  }

  std::shared_ptr<Tensor> submit_part (const Frame &frame, const Part &part, std::byte *landing) override
  {
    auto tensor = std::static_pointer_cast<CpuTensor> (pool_->acquire ());
    if (!tensor)
      return nullptr;
    tensor->set_done (false);
    tensor->become (part_of (shape_, part.bins, part.rows));

    std::unique_lock lock (mutex_);
    changed_.wait (lock, [this] { return !idle_.empty (); });
    Lane *lane = idle_.back ();
    idle_.pop_back ();
    lock.unlock ();

    const gint64 start = now ();
    try {
      inthist::Image rows = frame.image;
      rows.data = static_cast<const std::byte *> (rows.data) + part.first_row * rows.stride;
      inthist::cpu::bin_image (rows, lut_of_part (lut_, shape_, part), shape_.width, part.rows, pixels_of (*lane));
    } catch (...) {
      lock.lock ();
      idle_.push_back (lane);
      throw;
    }
    lane->tensor = tensor;
    lane->landing = { landing, shape_, part };

    lock.lock ();
    stats_.frames++;
    stats_.upload.add (now () - start);
    queue_.push_back (lane);
    changed_.notify_all ();
    return tensor;
  }

  void set_flushing (bool flushing) override { pool_->set_flushing (flushing); }

  Stats stats () override
  {
    const std::lock_guard lock (mutex_);
    Stats stats = stats_;
    stats.backend = "cpu";
    stats.in_flight = lanes_.size () - idle_.size ();
    return stats;
  }

  const Plan &plan () const override { return plan_; }

private:
  /// What a frame needs until its tensor is done.
  struct Lane {
    HostMemory pixels, workspace;
    std::shared_ptr<CpuTensor> tensor;
    Landing landing;
  };

  PixelPlane pixels_of (const Lane &lane) const
  {
    return { reinterpret_cast<std::uint8_t *> (lane.pixels.get ()), inthist::bin_stride (shape_.width) };
  }

  void compute (const Lane &lane)
  {
    CpuTensor &tensor = *lane.tensor;
    inthist::run (*plan_.choice.strategy,
                  { tensor.shape, tensor.layout, pixels_of (lane), tensor.data (), lane.workspace.get (), nullptr, plan_.choice.tuning });
    const Part &part = lane.landing.part;
    if (part.rows < shape_.height) {
      if (part.first_row == 0)
        std::ranges::fill (above_, 0);
      inthist::cpu::add_above (tensor.shape, tensor.layout, tensor.data (), above_.data ());
    }
    if (lane.landing.tensor)
      lane.landing.copy (tensor.data ());
  }

  static guint64 now () { return std::chrono::nanoseconds (std::chrono::steady_clock::now ().time_since_epoch ()).count (); }

  void work ()
  {
    std::unique_lock lock (mutex_);
    for (;;) {
      changed_.wait (lock, [this] { return stopping_ || !queue_.empty (); });
      if (queue_.empty ())
        return;
      Lane *lane = queue_.front ();
      queue_.pop_front ();
      lock.unlock ();

      const guint64 start = now ();
      CpuTensor &tensor = *lane->tensor;
      std::string failure;
      try {
        compute (*lane);
      } catch (const std::exception &error) {
        failure = error.what ();
      }
      const guint64 duration = now () - start;
      tensor.set_done (true, failure);
      lane->tensor.reset ();

      lock.lock ();
      stats_.compute.add (duration);
      idle_.push_back (lane);
      changed_.notify_all ();
    }
  }

  const inthist::Shape shape_, most_;  // of the frame, and of the largest part
  const inthist::Lut lut_;
  std::vector<Lane> lanes_;
  std::vector<std::uint32_t> above_;  // the worker's: H in the row above the next strip
  const std::shared_ptr<TensorPool> pool_;
  const Plan plan_;

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::vector<Lane *> idle_;
  std::deque<Lane *> queue_;
  Stats stats_;
  bool stopping_ = false;

  std::jthread worker_;
};

}  // namespace

void
answer_on_host (const Tensor &tensor, const void *data, std::span<const Query> queries)
{
  std::vector<std::byte> unwanted;
  for (Query query : queries) {
    if (!query.answers && !query.goes_on (tensor.shape)) {
      unwanted.resize (inthist::answer_bytes (tensor.shape, query));
      query.answers = unwanted.data ();
    }
    inthist::cpu::answer (tensor.shape, tensor.layout, data, query);
  }
}

std::unique_ptr<PartEngine>
make_cpu_engine (const inthist::Shape &shape, const inthist::Lut &lut, const Options &options, const Portion &portion)
{
  return std::make_unique<CpuEngine> (shape, lut, options, portion);
}

}  // namespace integralhist
