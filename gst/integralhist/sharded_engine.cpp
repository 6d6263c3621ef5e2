// SPDX-License-Identifier: LGPL-2.1-or-later
#include "sharded_engine.hpp"

#include <cstring>
#include <list>
#include <optional>
#include <thread>
#include <utility>

#if INTHIST_CUDA
#include "relay.hpp"
#endif
#include "trace.hpp"

namespace integralhist {
namespace {

struct Staging {
  HostMemory memory;
  std::size_t bytes = 0;
};

/// A frame whose pixels somebody reads, or will.
struct Making {
  Frame frame;
  std::shared_ptr<ShardedTensor> tensor;
  Staging staged;                 // its pixels, where they had to be copied
  std::shared_ptr<void> relayed;  // keeps them on a device
  GstBuffer *buffer = nullptr;    // that has its pixels; owned
  int users = 0;                  // tasks that are not done, and devices that bring the pixels

  ~Making ()
  {
    relayed.reset ();  // which may be read from the others
    if (buffer)
      gst_buffer_unref (buffer);
  }
};

struct Task {
  std::shared_ptr<Making> making;
  int group = 0;
};

/// What a device is doing for a task.
struct UnderWay {
  Task task;
  Part part;
  std::shared_ptr<Tensor> tensor;
  bool last;  // of its task's parts
};

/// INTEGRALHIST_FAULT=device:n has the n-th part on that device fail, to see what becomes of everything else.
struct Fault {
  int device = -1, part = 0;

  Fault ()
  {
    if (const char *text = g_getenv ("INTEGRALHIST_FAULT"))
      sscanf (text, "%d:%d", &device, &part);
  }
};

/// What was thrown.
Error
current_error ()
{
  try {
    throw;
  } catch (const Error &error) {
    return error;
  } catch (const std::bad_alloc &) {
    return Error (GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY, "not enough memory on the host");
  } catch (const std::exception &error) {
    return Error (GST_INTEGRAL_HISTOGRAM_ERROR_FAILED, error.what ());
  }
}

class ShardedEngine final : public Engine {
public:
  ShardedEngine (const inthist::Shape &shape, const Options &options, const Sharing &sharing, std::vector<ShardDevice> devices,
                 const Host &host)
      : shape_ (shape), depth_ (options.async_depth), failed_ (options.failed), sharing_ (sharing), host_ (host)
  {
    Options of_frames = options;
    if (sharing.frames > 0 && (options.max_tensors == 0 || options.max_tensors > sharing.frames))
      of_frames.max_tensors = sharing.frames;  // so that every task of a frame that was let in finds room
    const auto make = [shape, sharing, download = options.download, allocate = host.allocate] (unsigned alive) {
      return std::make_unique<ShardedTensor> (shape, sharing, download, allocate, alive);
    };
    pool_ = std::make_shared<TensorPool> (make, of_frames);

    Options of_parts = options;
    of_parts.async_depth = kPartsAtOnce;
    if (options.download == Download::eager)
      of_parts.download = Download::lazy;  // to a landing
    of_parts.still_waiting = nullptr;
    of_parts.failed = nullptr;
    of_parts.tuning_time = 0;  // the built-in choice, whose memory was counted
    inthist::Shape part_shape = shape;
    if (sharing.strips > 1 && shape.counter == inthist::Type::u16_anchored)
      part_shape.counter = inthist::Type::u16;  // anchors want all rows
    for (std::size_t d = 0; d < devices.size (); d++) {
      of_parts.max_tensors = sharing.tensors[d];
      auto worker = std::make_unique<Worker> ();
      worker->id = devices[d].id;
      worker->engine = devices[d].make_engine (part_shape, of_parts, { sharing.bins, sharing.rows });
      workers_.push_back (std::move (worker));
    }
    try {
      for (auto &worker : workers_)
        worker->thread = std::jthread ([this, w = worker.get ()] { work (*w); });
    } catch (...) {
      stop ();
      throw;
    }
  }

  ~ShardedEngine () override { stop (); }

  std::shared_ptr<Tensor> submit (const Frame &frame) override
  {
    const TraceRange range ("integral histogram: share out");
    {
      std::unique_lock lock (mutex_);
      changed_.wait (lock, [this] { return flushing_ || failure_ || makings_ < depth_; });
      throw_failure ();
      if (flushing_)
        return nullptr;
    }
    auto tensor = next_tensor ();
    if (!tensor)
      return nullptr;
    tensor->begin ();
    auto making = std::make_shared<Making> ();
    making->frame = frame;
    making->tensor = tensor;
    making->users = sharing_.groups;
    if (frame.place == Place::host)
      stage (*making);
    else
      host_.await_producer (frame);
    const std::size_t pixels = std::size_t (shape_.width) * shape_.height * frame.image.format.bytes;
    const bool relayed = relays () && frame.place != Place::device;
    if (relayed)
      making->relayed = host_.relay (making->frame, shape_.width, shape_.height);

    const std::lock_guard lock (mutex_);
    throw_failure ();
    if (relayed)
      stats_.bytes_up += pixels;
    making->frame.number = ++stats_.frames;
    makings_++;
    for (int group = 0; group < sharing_.groups; group++)
      queue_.push_back ({ making, group });
    last_ = frame.place == Place::host ? nullptr : making;
    changed_.notify_all ();
    return tensor;
  }

  void hold (GstBuffer *buffer, Tensor &tensor) override
  {
    std::unique_lock lock (mutex_);
    const auto making = last_.lock ();
    if (!making || making->users == 0)
      return;
    if (lending_is_in_the_way_) {
      changed_.wait (lock, [&] { return making->users == 0; });
      return;
    }
    tensor.copied = false;
    tensor.lent = true;
    making->buffer = gst_buffer_ref (buffer);
  }

  void set_flushing (bool flushing) override
  {
    pool_->set_flushing (flushing);
    const std::lock_guard lock (mutex_);
    flushing_ = flushing;
    changed_.notify_all ();
  }

  bool has_failed () override
  {
    const std::lock_guard lock (mutex_);
    return failing_ || failure_;
  }

  void finish () override
  {
    std::unique_lock lock (mutex_);
    changed_.wait (lock, [this] { return flushing_ || failure_ || makings_ == 0; });
    throw_failure ();
  }

  Stats stats () override
  {
    Stats stats;
    for (auto &worker : workers_) {
      const Stats own = worker->engine->stats ();
      stats.backend = own.backend;
      stats.device = workers_.size () == 1 ? own.device : -1;
      stats.bytes_up += own.bytes_up;
      stats.bytes_down += own.bytes_down;
      for (const auto which : { &Stats::upload, &Stats::compute, &Stats::download })
        (stats.*which).add (own.*which);
    }
    const std::lock_guard lock (mutex_);
    stats.frames = stats_.frames;
    stats.bytes_staged = stats_.bytes_staged;
    stats.bytes_up += stats_.bytes_up;
    stats.in_flight = makings_;
    for (auto &worker : workers_)
      stats.shares.push_back ({ worker->id, worker->parts });
    return stats;
  }

  const Plan &plan () const override { return workers_.front ()->engine->plan (); }

  std::string story () const override
  {
    const auto count = [] (int n, const std::string &what) { return std::to_string (n) + " " + what + (n == 1 ? "" : "s"); };
    std::string devices;
    for (const auto &worker : workers_)
      devices.append (devices.empty () ? "" : ",").append (std::to_string (worker->id));
    return "frames in " + count (sharing_.groups, "task") + " of at most " + count (sharing_.bins, "bin")
           + (sharing_.strips > 1 ? ", each in " + count (sharing_.strips, "strip") + " of rows" : "") + ", for "
           + (workers_.size () == 1 ? "device " : "devices ") + devices + "; "
           + (sharing_.resident ? "at most " + count (int (sharing_.frames), "tensor") + ", in shards that stay there"
                                : "in rounds, tensors in host memory")
           + (relays () ? "; pictures go up once, and from device to device" : "");
  }

private:
  bool relays () const { return sharing_.resident && host_.relays (shape_); }

  /// Once all that was promised is there.
  void stop ()
  {
    {
      const std::lock_guard lock (mutex_);
      stopping_ = true;
      changed_.notify_all ();
    }
    for (auto &worker : workers_)
      if (worker->thread.joinable ())
        worker->thread.join ();
    workers_.clear ();
    pool_->close ();
  }

  struct Worker {
    int id = 0;
    guint64 parts = 0;                 // done; guarded by the mutex
    guint64 expected = 0;              // the last frame that the device was told of; the thread's
    std::shared_ptr<Making> bringing;  // that frame, while its pixels are on their way; the thread's
    std::unique_ptr<PartEngine> engine;
    std::jthread thread;
  };

  /// Null when flushing. Where there is no memory for another, one that is in the making is waited for.
  std::shared_ptr<ShardedTensor> next_tensor ()
  {
    for (;;) {
      const guint64 before = finished ();
      try {
        return std::static_pointer_cast<ShardedTensor> (pool_->acquire ());
      } catch (const Error &error) {
        std::unique_lock lock (mutex_);
        // one that was finished meanwhile may have given back what was missing
        if (error.code != GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY || (makings_ == 0 && finished_ == before))
          throw;
        changed_.wait (lock, [&] { return flushing_ || failure_ || finished_ != before; });
        throw_failure ();
        if (flushing_)
          return nullptr;
      }
    }
  }

  guint64 finished ()
  {
    const std::lock_guard lock (mutex_);
    return finished_;
  }

  void throw_failure () const
  {
    if (failure_)
      throw *failure_;
  }

  /// Copies the pixels, for the devices read them when they come to it.
  void stage (Making &making)
  {
    const inthist::Image &image = making.frame.image;
    const std::size_t row = std::size_t (shape_.width) * image.format.bytes, pitch = (row + 255) / 256 * 256;
    const std::size_t bytes = pitch * shape_.height;
    {
      const std::lock_guard lock (mutex_);
      if (!staging_.empty ()) {
        making.staged = std::move (staging_.back ());
        staging_.pop_back ();
      }
    }
    if (making.staged.bytes < bytes)
      making.staged = { host_.allocate (bytes,
                                        [&] (std::size_t available) {
                                          return no_memory ("a frame's pixels", bytes, available, "host") + ": lower async-depth";
                                        }),
                        bytes };
    std::byte *const to = making.staged.memory.get ();
    for (int y = 0; y < shape_.height; y++)
      std::memcpy (to + y * pitch, static_cast<const std::byte *> (image.data) + y * image.stride, row);
    making.frame.image.data = to;
    making.frame.image.stride = pitch;
    making.frame.place = Place::pinned;
    const std::lock_guard lock (mutex_);
    stats_.bytes_staged += row * shape_.height;
  }

  /// Takes the next task whenever the device is free, and sees to those that are done.
  void work (Worker &worker)
  {
    std::list<UnderWay> under_way;
    std::unique_lock lock (mutex_);
    for (;;) {
      if (worker.bringing && has_brought (worker)) {
        lock.unlock ();
        finish (*std::exchange (worker.bringing, nullptr));
        lock.lock ();
      }
      const bool take = !queue_.empty () && under_way.size () < kPartsAtOnce && is_free (worker);
      if (take) {
        const Task task = std::move (queue_.front ());
        queue_.pop_front ();
        lock.unlock ();
        start (worker, task, under_way);
        lock.lock ();
      } else if (expected (worker)) {
        lock.unlock ();
        expect (worker);
        lock.lock ();
      } else if (!under_way.empty ()) {
        // meanwhile there may be something to take, or to bring
        const bool may_take = under_way.size () < kPartsAtOnce;
        lock.unlock ();
        settle (worker, under_way, may_take ? 0 : 100 * GST_USECOND);
        lock.lock ();
        if (may_take && !under_way.empty ())
          changed_.wait_for (lock, std::chrono::microseconds (50));
      } else if (!queue_.empty () || worker.bringing) {
        changed_.wait_for (lock, std::chrono::milliseconds (1));  // its memory is held
      } else if (stopping_) {
        return;
      } else {
        changed_.wait (lock);
      }
    }
  }

  /// The frame whose tasks are next, or the one after it, if the device has not been told of it. Of strips, each is brought when it is computed.
  bool expected (Worker &worker)
  {
    if (queue_.empty () || sharing_.strips > 1 || worker.bringing)
      return false;
    const guint64 first = queue_.front ().making->frame.number;
    const auto next = std::ranges::find_if (queue_, [&] (const Task &task) { return task.making->frame.number > worker.expected; });
    if (next == queue_.end () || next->making->frame.number > first + 1)
      return false;
    worker.bringing = next->making;
    worker.bringing->users++;  // until the pixels are there, whoever computes the frame
    worker.expected = worker.bringing->frame.number;
    return true;
  }

  void expect (Worker &worker)
  {
    try {
      worker.engine->expect (worker.bringing->frame);
    } catch (...) {
      // the first part says so
    }
  }

  static bool has_brought (Worker &worker)
  {
    try {
      return worker.engine->has_brought (worker.bringing->frame);
    } catch (...) {
      return true;
    }
  }

  /// One that has failed says so when it is given something to do.
  static bool is_free (Worker &worker)
  {
    try {
      return worker.engine->is_free ();
    } catch (...) {
      return true;
    }
  }

  void start (Worker &worker, const Task &task, std::list<UnderWay> &under_way)
  {
    const Making &making = *task.making;
    for (int strip = 0; strip < sharing_.strips; strip++) {
      const Part part = sharing_.part (shape_, task.group, strip);
      try {
        if (worker.id == fault_.device && ++parts_until_fault_ == fault_.part)
          throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_FAILED, "a fault that INTEGRALHIST_FAULT asked for");
        while (under_way.size () >= kPartsAtOnce)
          settle (worker, under_way, GST_CLOCK_TIME_NONE);
        auto tensor = worker.engine->submit_part (making.frame, part, making.tensor->landing ());
        under_way.push_back ({ task, part, std::move (tensor), strip + 1 == sharing_.strips });
      } catch (...) {
        fail (worker, task, current_error ());
        while (!under_way.empty ())  // strips before this one may still read the pixels
          settle (worker, under_way, GST_CLOCK_TIME_NONE);
        return finish (*task.making);
      }
    }
  }

  /// The oldest, when it is done within the time.
  void settle (Worker &worker, std::list<UnderWay> &under_way, GstClockTime timeout)
  {
    UnderWay &oldest = under_way.front ();
    bool computed = false;
    try {
      if (!oldest.tensor->wait_for_landing (timeout))
        return;
      if (oldest.last)
        oldest.task.making->tensor->finish (oldest.task.group, oldest.part, std::move (oldest.tensor));
      computed = true;
    } catch (...) {
      fail (worker, oldest.task, current_error ());
    }
    const UnderWay done = std::move (oldest);
    under_way.pop_front ();
    {
      const std::lock_guard lock (mutex_);
      worker.parts += computed;
    }
    if (done.last)
      finish (*done.task.making);
  }

  /// One of a frame's tasks is done, or never will be; or a device has its pixels.
  void finish (Making &making)
  {
    std::shared_ptr<ShardedTensor> tensor;
    std::shared_ptr<void> relayed;
    GstBuffer *buffer = nullptr;
    {
      const std::lock_guard lock (mutex_);
      if (--making.users > 0)
        return;
      relayed = std::move (making.relayed);
      tensor = std::move (making.tensor);
      buffer = std::exchange (making.buffer, nullptr);
      if (buffer) {
        tensor->lent = false;
        if (tensor->copied)
          lending_is_in_the_way_ = true;
      }
    }
    // what somebody may wait for is back before he is told
    relayed.reset ();
    if (buffer)
      gst_buffer_unref (buffer);
    tensor.reset ();
    const std::lock_guard lock (mutex_);
    if (making.staged.memory)
      staging_.push_back (std::move (making.staged));
    makings_--;
    finished_++;
    changed_.notify_all ();
  }

  /// The first failure is what everybody is told.
  void fail (const Worker &worker, const Task &task, const Error &error)
  {
    std::list<Task> dropped;
    const bool others = workers_.size () > 1 && error.code != GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY;
    const Error failure (error.code, "device " + std::to_string (worker.id) + " failed: " + error.what ()
                                         + (others ? "; leave it out of cuda-device-ids to compute on the others" : ""));
    failing_ = true;
    if (failed_)
      std::call_once (told_, failed_, failure);  // before anybody else hears of it
    {
      const std::lock_guard lock (mutex_);
      if (!failure_)
        failure_ = failure;
      dropped.assign (queue_.begin (), queue_.end ());
      queue_.clear ();
      changed_.notify_all ();
    }
    task.making->tensor->fail (failure, bool (failed_));
    for (const Task &one : dropped) {
      one.making->tensor->fail (failure, bool (failed_));
      finish (*one.making);
    }
  }

  const inthist::Shape shape_;
  const unsigned depth_;
  const std::function<void (const Error &)> failed_;
  std::once_flag told_;
  std::atomic<bool> failing_ = false;
  const Sharing sharing_;
  const Host host_;
  const Fault fault_;
  std::atomic<int> parts_until_fault_ = 0;
  std::shared_ptr<TensorPool> pool_;
  std::vector<std::unique_ptr<Worker>> workers_;

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<Task> queue_;
  unsigned makings_ = 0;  // frames that are not finished
  guint64 finished_ = 0;
  std::weak_ptr<Making> last_;  // submitted, where its pixels are read later
  std::vector<Staging> staging_;
  std::optional<Error> failure_;
  bool flushing_ = false, stopping_ = false, lending_is_in_the_way_ = false;
  Stats stats_;
};

}  // namespace

std::unique_ptr<Engine>
make_sharded_engine (const inthist::Shape &shape, const Options &options, std::vector<ShardDevice> devices, const Host &host,
                     int pixel_bytes)
{
  const std::size_t picture = (std::size_t (shape.width) * pixel_bytes + 511) / 512 * 512 * shape.height;
  const Sharing sharing = share_out (shape, devices, options, overhead_of (shape, options, host.kind, pixel_bytes, kPartsAtOnce),
                                     host.relays (shape) ? options.async_depth * picture : 0);
  return std::make_unique<ShardedEngine> (shape, options, sharing, std::move (devices), host);
}

ShardDevice
pretend_device (int id, const inthist::Lut &lut, const Options &options)
{
  return { id, options.max_device_memory ? options.max_device_memory : available_memory (),
           [lut] (const inthist::Shape &shape, const Options &o, const Portion &portion) {
             return make_cpu_engine (shape, lut, o, portion);
           } };
}

#if INTHIST_CUDA
ShardDevice
cuda_shard_device (std::shared_ptr<CudaContext> context, const inthist::Lut &lut, const Options &options)
{
  // something is left to the driver, and to others
  const std::size_t available = context->free_memory () / 20 * 19;
  return { context->device (), options.max_device_memory ? std::min<std::size_t> (options.max_device_memory, available) : available,
           [lut, context] (const inthist::Shape &shape, const Options &o, const Portion &portion) {
             return make_cuda_engine (shape, lut, o, context, portion);
           } };
}

Host
cuda_host (const std::vector<std::shared_ptr<CudaContext>> &contexts)
{
  const std::shared_ptr<CudaContext> first = contexts.front ();
  Host host = { inthist::Device::cuda, [first] (std::size_t bytes, const auto &message) { return allocate_pinned (first, bytes, message); },
                [first] (const Frame &frame) {
                  if (frame.producer)
                    (frame.context ? frame.context : first)->synchronize (frame.producer);
                } };
  if (const auto relay = Relay::between (contexts))
    host.relay = [relay] (Frame &frame, int width, int height) { return relay->bring (frame, width, height); };
  return host;
}
#endif

}  // namespace integralhist
