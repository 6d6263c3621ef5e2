// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Histograms and tables on the CPU. The streaming thread turns pixels into bin indices, which takes a hundredth of the time, and then the input buffer is no longer
// needed; a worker thread, with all cores behind it, fills the tensor while the frame travels on.
#include "engine.hpp"

#include <cstdlib>
#include <deque>
#include <fstream>
#include <thread>

#include <sys/mman.h>

namespace integralhist {
namespace {

using inthist::PixelPlane;

struct Free {
  void operator() (void *memory) const { std::free (memory); }
};
using Memory = std::unique_ptr<void, Free>;

/// Page-aligned; large ones on huge pages, where the system has them. Every page is written to, so that what is allocated is no longer free.
Memory
allocate (std::size_t bytes)
{
  constexpr std::size_t kPage = 4096, kHugePage = 2 << 20;
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kPage;
  const std::size_t rounded = (std::max<std::size_t> (bytes, 1) + alignment - 1) / alignment * alignment;
  Memory memory (std::aligned_alloc (alignment, rounded));
  if (!memory)
    return nullptr;
  if (alignment == kHugePage)
    madvise (memory.get (), rounded, MADV_HUGEPAGE);
  for (std::size_t i = 0; i < rounded; i += kPage)
    static_cast<volatile char *> (memory.get ())[i] = 0;
  return memory;
}

/// Bytes that can be had without swapping, by the system and by the container that we may be in. Allocating more would succeed, and somebody would be
/// killed for it later.
std::size_t
available_memory ()
{
  std::size_t available = SIZE_MAX, kib, limit, used;
  std::ifstream meminfo ("/proc/meminfo");
  std::string name, unit;
  while (meminfo >> name >> kib && std::getline (meminfo, unit))
    if (name == "MemAvailable:")
      available = kib * 1024;
  std::ifstream limit_file ("/sys/fs/cgroup/memory.max"), used_file ("/sys/fs/cgroup/memory.current");
  if (limit_file >> limit && used_file >> used)  // "max" is no number
    available = std::min (available, limit > used ? limit - used : 0);
  return available;
}

/// `message` gets the bytes that are free.
template <class Message>
Memory
allocate_or_throw (std::size_t bytes, Message message)
{
  const std::size_t available = available_memory ();
  Memory memory = bytes <= available ? allocate (bytes) : nullptr;
  if (!memory)
    throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY, message (available));
  return memory;
}

class CpuTensor final : public Tensor {
public:
  CpuTensor (const inthist::Shape &of, unsigned alive)
      : Tensor (of), memory_ (allocate_or_throw (
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
    std::vector<std::byte> unwanted;
    for (Query query : queries) {
      if (!query.answers && !query.goes_on (shape)) {
        unwanted.resize (inthist::answer_bytes (shape, query));
        query.answers = unwanted.data ();
      }
      inthist::cpu::answer (shape, layout, memory_.get (), query);
    }
  }

  const void *host () override
  {
    wait (GST_CLOCK_TIME_NONE);
    return memory_.get ();
  }

  void *data () { return memory_.get (); }

  /// `failure` is what to tell who waits, where it went wrong.
  void set_done (bool done, const std::string &failure = {})
  {
    const std::lock_guard lock (mutex_);
    done_ = done;
    failure_ = failure;
    changed_.notify_all ();
  }

private:
  const Memory memory_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::string failure_;
};

class CpuEngine final : public Engine {
public:
  CpuEngine (const inthist::Shape &shape, const inthist::Lut &lut, const Options &options)
      : shape_ (shape), lut_ (lut), lanes_ (options.async_depth),
        pool_ (std::make_shared<TensorPool> ([shape] (unsigned alive) { return std::make_unique<CpuTensor> (shape, alive); }, options)),
        plan_ (plan_for (inthist::Device::cpu, shape, options.strategy, options.tuning_time, 1,
                         static_cast<CpuTensor &> (*pool_->acquire ()).data ()))
  {
    const std::size_t plane = inthist::bin_stride (shape.width) * shape.height;
    const std::size_t workspace = plan_.choice.strategy->workspace_bytes (shape, plan_.choice.tuning);
    for (Lane &lane : lanes_) {
      for (const auto &[memory, bytes] : { std::pair{ &lane.pixels, plane }, std::pair{ &lane.workspace, workspace } })
        *memory = allocate_or_throw (bytes, [bytes = bytes] (std::size_t available) {
          return no_memory ("what a frame in the making needs besides its tensor", bytes, available, "host") + ": lower async-depth";
        });
      idle_.push_back (&lane);
    }
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
    auto tensor = std::static_pointer_cast<CpuTensor> (pool_->acquire ());
    if (!tensor)
      return nullptr;
    tensor->set_done (false);

    std::unique_lock lock (mutex_);
    changed_.wait (lock, [this] { return !idle_.empty (); });
    Lane *lane = idle_.back ();
    idle_.pop_back ();
    lock.unlock ();

    const gint64 start = now ();
    try {
      inthist::cpu::bin_image (frame.image, lut_, shape_.width, shape_.height, pixels_of (*lane));
    } catch (...) {
      lock.lock ();
      idle_.push_back (lane);
      throw;
    }
    lane->tensor = tensor;

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
    Memory pixels, workspace;
    std::shared_ptr<CpuTensor> tensor;
  };

  PixelPlane pixels_of (const Lane &lane) const
  {
    return { static_cast<std::uint8_t *> (lane.pixels.get ()), inthist::bin_stride (shape_.width) };
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
        inthist::run (*plan_.choice.strategy,
                      { shape_, tensor.layout, pixels_of (*lane), tensor.data (), lane->workspace.get (), nullptr, plan_.choice.tuning });
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

  const inthist::Shape shape_;
  const inthist::Lut lut_;
  std::vector<Lane> lanes_;
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

std::unique_ptr<Engine>
make_cpu_engine (const inthist::Shape &shape, const inthist::Lut &lut, const Options &options)
{
  return std::make_unique<CpuEngine> (shape, lut, options);
}

}  // namespace integralhist
