// SPDX-License-Identifier: LGPL-2.1-or-later
#include "sharded_engine.hpp"

#include <cstring>
#include <list>
#include <optional>
#include <set>
#include <utility>

#include "fault.hpp"
#include "trace.hpp"

namespace integralhist {
namespace {

constexpr std::chrono::milliseconds kMemoryPoll (20);
constexpr int kPollsASecond = 50;

struct Staging {
  HostMemory memory;
  std::size_t bytes = 0;
};

/// A frame in flight, whose pixels are read or will be.
struct Making {
  Frame frame;
  std::shared_ptr<ShardedTensor> tensor;
  Staging staged;                 // staging buffer, for unpinned pixels
  std::shared_ptr<void> relayed;  // keeps the pixels on a device
  GstBuffer *buffer = nullptr;    // held, with the pixels; owned
  int users = 0;                  // unfinished tasks, and devices that fetch the pixels

  ~Making ()
  {
    relayed.reset ();  // the buffer's upload is done after this
    if (buffer)
      gst_buffer_unref (buffer);
  }
};

struct Task {
  std::shared_ptr<Making> making;
  int group = 0;
};

/// A part in flight on a device.
struct UnderWay {
  Task task;
  Part part;
  std::shared_ptr<Tensor> tensor;
  bool last;  // of its task's parts
};

class ShardedEngine final : public Engine {
public:
  static Expected<std::unique_ptr<Engine>> create (const inthist::Shape &shape,
                                                   const Options &options, const Sharing &sharing,
                                                   const std::vector<ShardDevice> &devices,
                                                   const Host &host)
  {
    std::unique_ptr<ShardedEngine> engine (new ShardedEngine (shape, options, sharing, host));
    TRY (engine->open (options, devices));
    return engine;
  }

  ~ShardedEngine () override { stop (); }

  Expected<std::shared_ptr<Tensor>> submit (const Frame &frame) override
  {
    const TraceRange range ("integral histogram: share out");
    {
      std::unique_lock lock (mutex_);
      changed_.wait (lock,
                     [this] { return flushing_ || failure_ || unfinished_.size () < depth_; });
      TRY (no_failure ());
      if (flushing_)
        return error (Error::Kind::flushing, "flushing");
    }
    const auto tensor = TRY (next_tensor ());
    tensor->begin ();
    auto making = std::make_shared<Making> ();
    making->frame = frame;
    making->tensor = tensor;
    making->users = sharing_.groups;
    if (frame.place == Place::host)
      TRY (stage (*making));
    else
      TRY (host_.await_producer (frame));
    const std::size_t pixels =
        std::size_t (shape_.width) * shape_.height * frame.image.format.bytes;
    const bool relayed = relays () && frame.place != Place::device;
    if (relayed)
      making->relayed = TRY (host_.relay (making->frame, shape_.width, shape_.height));

    const std::lock_guard lock (mutex_);
    TRY (no_failure ());
    if (relayed)
      stats_.bytes_up += pixels;
    making->frame.number = ++stats_.frames;
    unfinished_.insert (making->frame.number);
    for (int group = 0; group < sharing_.groups; group++)
      queue_.push_back ({ making, group });
    last_ = frame.place == Place::host ? nullptr : making;
    changed_.notify_all ();
    return tensor;
  }

  Expected<> hold (GstBuffer *buffer, Tensor &tensor) override
  {
    std::unique_lock lock (mutex_);
    const auto making = last_.lock ();
    if (lending_is_in_the_way_)
      changed_.wait (lock, [&] { return flushing_ || !making || making->users == 0; });
    if (!making || making->users == 0)
      return {};
    tensor.copied = false;
    tensor.lent = true;
    making->buffer = gst_buffer_ref (buffer);
    return {};
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

  Expected<> finish () override
  {
    std::unique_lock lock (mutex_);
    changed_.wait (lock, [this] { return flushing_ || failure_ || unfinished_.empty (); });
    return no_failure ();
  }

  void abandon () override
  {
    {
      const std::lock_guard lock (telling_);
      failed_ = nullptr;
      still_waiting_ = nullptr;
    }
    std::list<Task> dropped;
    {
      const std::lock_guard lock (mutex_);
      const auto is_unheld = [] (const Task &task) {
        return task.making->tensor.use_count () == 1;
      };
      std::ranges::copy_if (queue_, std::back_inserter (dropped), is_unheld);
      std::erase_if (queue_, is_unheld);
    }
    for (const Task &task : dropped)
      finish (*task.making);
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
    stats.in_flight = unfinished_.size ();
    for (auto &worker : workers_)
      stats.shares.push_back ({ worker->id, worker->parts });
    return stats;
  }

  const Plan &plan () const override { return workers_.front ()->engine->plan (); }

  std::string story () const override
  {
    const auto count = [] (int n, const std::string &what) {
      return std::to_string (n) + " " + what + (n == 1 ? "" : "s");
    };
    std::string devices;
    for (const auto &worker : workers_)
      devices.append (devices.empty () ? "" : ",").append (std::to_string (worker->id));
    return "frames in " + count (sharing_.groups, "task") + " of at most "
           + count (sharing_.bins, "bin")
           + (sharing_.strips > 1 ? ", each in " + count (sharing_.strips, "strip") + " of rows"
                                  : "")
           + ", for " + (workers_.size () == 1 ? "device " : "devices ") + devices + "; "
           + (sharing_.resident ? "at most " + count (int (sharing_.frames), "tensor")
                                      + ", in shards that stay there"
                                : "in rounds, tensors in host memory")
           + (relays () ? "; pictures go up once, and from device to device" : "");
  }

private:
  ShardedEngine (const inthist::Shape &shape, const Options &options, const Sharing &sharing,
                 const Host &host)
      : shape_ (shape), depth_ (options.async_depth), failed_ (options.failed),
        still_waiting_ (options.still_waiting), sharing_ (sharing), host_ (host)
  {
  }

  Expected<> open (const Options &options, const std::vector<ShardDevice> &devices)
  {
    const char *const fault = g_getenv ("INTEGRALHIST_FAULT");
    fault_ = TRY (parse_fault (fault ? fault : ""));
    Options of_frames = options;
    // Lets every task of an accepted frame find room.
    if (sharing_.frames > 0 && (options.max_tensors == 0 || options.max_tensors > sharing_.frames))
      of_frames.max_tensors = sharing_.frames;
    const auto make = [shape = shape_, sharing = sharing_, download = options.download,
                       allocate = host_.allocate, cancelled = options.cancelled] (unsigned alive) {
      return ShardedTensor::create (shape, sharing, download, allocate, alive, cancelled);
    };
    pool_ = TRY (TensorPool::create (make, of_frames));
    if (!sharing_.resident)  // the host joins the parts, and answers questions
      TRY (check_threads (options.cancelled.get ()));

    Options of_parts = options;
    of_parts.async_depth = kPartsAtOnce;
    if (options.download == Download::eager)
      of_parts.download = Download::lazy;  // to a host destination
    of_parts.still_waiting = nullptr;
    of_parts.failed = nullptr;
    // Parts of frames that somebody holds are computed after a stop, too.
    of_parts.cancelled = nullptr;
    of_parts.tuning_time = 0;  // the built-in choice, whose memory was counted
    inthist::Shape part_shape = shape_;
    if (sharing_.strips > 1 && shape_.counter == inthist::Type::u16_anchored)
      part_shape.counter = inthist::Type::u16;  // anchors need all rows
    for (std::size_t d = 0; d < devices.size (); d++) {
      of_parts.max_tensors = sharing_.tensors[d];
      auto worker = std::make_unique<Worker> ();
      worker->id = devices[d].id;
      worker->engine =
          TRY (devices[d].make_engine (part_shape, of_parts, { sharing_.bins, sharing_.rows }));
      workers_.push_back (std::move (worker));
    }
    for (auto &worker : workers_)
      worker->thread =
          TRY (Thread::start ("integralhist-device", [this, w = worker.get ()] { work (*w); }));
    return {};
  }

  bool relays () const { return sharing_.resident && host_.relays (shape_); }

  /// Stops the threads once all promised tensors are computed.
  void stop ()
  {
    {
      const std::lock_guard lock (mutex_);
      stopping_ = true;
      changed_.notify_all ();
    }
    for (auto &worker : workers_)
      worker->thread.join ();
    workers_.clear ();
    if (pool_)
      pool_->close ();
  }

  struct Worker {
    int id = 0;
    guint64 parts = 0;     // done; guarded by mutex_
    guint64 expected = 0;  // the last frame announced to the device; the thread's
    // That frame, until its pixels are there; the thread's.
    std::shared_ptr<Making> bringing;
    std::unique_ptr<PartEngine> engine;
    Thread thread;
  };

  /// Returns a free tensor. Where there is no memory for another, it waits for a frame in flight.
  Expected<std::shared_ptr<ShardedTensor>> next_tensor ()
  {
    for (;;) {
      const guint64 before = finished ();
      const auto acquired = pool_->acquire ();
      if (acquired)
        return std::static_pointer_cast<ShardedTensor> (*acquired);
      std::unique_lock lock (mutex_);
      // a frame that finished meanwhile may have returned the missing memory
      if (acquired.error ().kind != Error::Kind::no_memory
          || (unfinished_.empty () && finished_ == before))
        return tl::make_unexpected (acquired.error ());
      changed_.wait (lock, [&] { return flushing_ || failure_ || finished_ != before; });
      TRY (no_failure ());
      if (flushing_)
        return error (Error::Kind::flushing, "flushing");
    }
  }

  guint64 finished ()
  {
    const std::lock_guard lock (mutex_);
    return finished_;
  }

  Expected<> no_failure () const
  {
    if (failure_)
      return tl::make_unexpected (*failure_);
    return {};
  }

  /// Copies the pixels to a staging buffer, because the devices read them later.
  Expected<> stage (Making &making)
  {
    const inthist::Image &image = making.frame.image;
    const std::size_t row = std::size_t (shape_.width) * image.format.bytes,
                      pitch = (row + 255) / 256 * 256;
    const std::size_t bytes = pitch * shape_.height;
    {
      const std::lock_guard lock (mutex_);
      if (!staging_.empty ()) {
        making.staged = std::move (staging_.back ());
        staging_.pop_back ();
      }
    }
    if (making.staged.bytes < bytes)
      making.staged = { TRY (host_.allocate (
                            bytes,
                            [&] (const Available &available) {
                              return no_memory ("a frame's pixels", bytes, available)
                                     + ": lower async-depth";
                            },
                            nullptr)),
                        bytes };
    std::byte *const to = making.staged.memory.get ();
    for (int y = 0; y < shape_.height; y++)
      std::memcpy (to + y * pitch, static_cast<const std::byte *> (image.data) + y * image.stride,
                   row);
    making.frame.image.data = to;
    making.frame.image.stride = std::ptrdiff_t (pitch);
    making.frame.place = Place::pinned;
    const std::lock_guard lock (mutex_);
    stats_.bytes_staged += row * shape_.height;
    return {};
  }

  /// Takes the next task whenever the device is free, and ends the parts that are done.
  void work (Worker &worker)
  {
    std::list<UnderWay> under_way;
    std::unique_lock lock (mutex_);
    for (;;) {
      if (worker.bringing && worker.engine->has_brought (worker.bringing->frame)) {
        lock.unlock ();
        finish (*std::exchange (worker.bringing, nullptr));
        lock.lock ();
      }
      const bool take =
          !queue_.empty () && under_way.size () < kPartsAtOnce && worker.engine->is_free ();
      if (take) {
        const Task task = std::move (queue_.front ());
        queue_.pop_front ();
        lock.unlock ();
        start (worker, task, under_way);
        lock.lock ();
      } else if (expected (worker)) {
        lock.unlock ();
        worker.engine->expect (worker.bringing->frame);
        lock.lock ();
      } else if (!under_way.empty ()) {
        // there may be a task to take, or pixels to fetch, meanwhile
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

  /// Finds the frame whose pixels the device should fetch: that of the next tasks or the one after
  /// it, unless it was announced already. Strips are fetched when they are computed.
  bool expected (Worker &worker)
  {
    if (queue_.empty () || sharing_.strips > 1 || worker.bringing)
      return false;
    const guint64 first = queue_.front ().making->frame.number;
    const auto next = std::ranges::find_if (
        queue_, [&] (const Task &task) { return task.making->frame.number > worker.expected; });
    if (next == queue_.end () || next->making->frame.number > first + 1)
      return false;
    worker.bringing = next->making;
    worker.bringing->users++;  // until the pixels are there, whichever device computes the frame
    worker.expected = worker.bringing->frame.number;
    return true;
  }

  void start (Worker &worker, const Task &task, std::list<UnderWay> &under_way)
  {
    for (int strip = 0; strip < sharing_.strips; strip++) {
      const Part part = sharing_.part (shape_, task.group, strip);
      auto tensor = submit_part (worker, *task.making, part, under_way);
      if (!tensor) {
        fail (worker, task, tensor.error ());
        while (!under_way.empty ())  // earlier strips may still read the pixels
          settle (worker, under_way, GST_CLOCK_TIME_NONE);
        return finish (*task.making);
      }
      under_way.push_back ({ task, part, std::move (*tensor), strip + 1 == sharing_.strips });
    }
  }

  /// Returns whether other frames may return memory before this one is done: frames that somebody
  /// holds, or older ones on other devices. `held` is set to the number held.
  bool may_get_memory (const Making &making, unsigned *held)
  {
    const unsigned out = pool_->n_out ();
    const std::lock_guard lock (mutex_);
    *held = out - std::min (out, unsigned (unfinished_.size ()));
    return !stopping_ && !failure_
           && (out != unfinished_.size () || *unfinished_.begin () < making.frame.number);
  }

  /// Submits a part. Its memory was counted when the engine was made; where others have taken it
  /// since, this waits while some may come back.
  Expected<std::shared_ptr<Tensor>> submit_part (Worker &worker, const Making &making,
                                                 const Part &part, std::list<UnderWay> &under_way)
  {
    if (fault_ && worker.id == fault_->device && ++parts_until_fault_ == fault_->part)
      return error (Error::Kind::failed, "a fault that INTEGRALHIST_FAULT asked for");
    while (under_way.size () >= kPartsAtOnce)
      settle (worker, under_way, GST_CLOCK_TIME_NONE);
    bool warned = false;
    for (int waited = 0;; waited++) {
      auto tensor = worker.engine->submit_part (making.frame, part, making.tensor->landing ());
      if (tensor || tensor.error ().kind != Error::Kind::no_memory)
        return tensor;
      if (!under_way.empty ()) {
        settle (worker, under_way, GST_CLOCK_TIME_NONE);
        continue;
      }
      unsigned held;
      if (!may_get_memory (making, &held))
        return tensor;
      std::unique_lock lock (mutex_);
      changed_.wait_for (lock, kMemoryPoll);
      lock.unlock ();
      if (waited >= kPollsASecond && held > 0 && !std::exchange (warned, true))
        warn_of_wait (held);
    }
  }

  /// Ends the oldest part, if it is done within the timeout.
  void settle (Worker &worker, std::list<UnderWay> &under_way, GstClockTime timeout)
  {
    UnderWay &oldest = under_way.front ();
    const auto landed = oldest.tensor->wait_for_landing (timeout);
    if (!landed && landed.error ().kind == Error::Kind::timeout)
      return;
    if (!landed)
      fail (worker, oldest.task, landed.error ());
    else if (oldest.last)
      oldest.task.making->tensor->finish (oldest.task.group, oldest.part,
                                          std::move (oldest.tensor));
    const UnderWay done = std::move (oldest);
    under_way.pop_front ();
    {
      const std::lock_guard lock (mutex_);
      worker.parts += landed.has_value ();
    }
    if (done.last)
      finish (*done.task.making);
  }

  /// Ends one use of a frame: a task that is done or dropped, or a device's fetch of the pixels.
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
    // all memory is back before a waiting thread is told
    relayed.reset ();
    if (buffer)
      gst_buffer_unref (buffer);
    tensor.reset ();
    const std::lock_guard lock (mutex_);
    if (making.staged.memory)
      staging_.push_back (std::move (making.staged));
    unfinished_.erase (making.frame.number);
    finished_++;
    changed_.notify_all ();
  }

  /// Reports the first failure to the application. Returns false after abandon ().
  bool tell (const Error &failure)
  {
    const std::lock_guard lock (telling_);
    if (!failed_)
      return false;
    if (!std::exchange (told_, true)) {
      const auto failed = failed_;  // may be reset meanwhile
      failed (failure);
    }
    return true;
  }

  void warn_of_wait (unsigned most)
  {
    const std::lock_guard lock (telling_);
    if (const auto warn = still_waiting_)
      warn (most);
  }

  /// Ends all tasks with the first failure.
  void fail (const Worker &worker, const Task &task, const Error &error)
  {
    std::list<Task> dropped;
    const bool others = workers_.size () > 1 && error.kind != Error::Kind::no_memory;
    const Error failure (
        error.kind,
        "device " + std::to_string (worker.id) + " failed: " + error.message
            + (others ? "; leave it out of cuda-device-ids to compute on the others" : ""));
    failing_ = true;
    const bool tells = tell (failure);  // before anybody else learns of it
    {
      const std::lock_guard lock (mutex_);
      if (!failure_)
        failure_ = failure;
      dropped.assign (queue_.begin (), queue_.end ());
      queue_.clear ();
      changed_.notify_all ();
    }
    task.making->tensor->fail (failure, tells);
    for (const Task &one : dropped) {
      one.making->tensor->fail (failure, tells);
      finish (*one.making);
    }
  }

  const inthist::Shape shape_;
  const unsigned depth_;
  // Guards the two functions that follow; they may stop the element, hence recursive.
  std::recursive_mutex telling_;
  std::function<void (const Error &)> failed_;
  std::function<void (unsigned)> still_waiting_;
  bool told_ = false;
  std::atomic<bool> failing_ = false;
  const Sharing sharing_;
  const Host host_;
  std::optional<Fault> fault_;
  std::atomic<int> parts_until_fault_ = 0;
  std::shared_ptr<TensorPool> pool_;
  std::vector<std::unique_ptr<Worker>> workers_;

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<Task> queue_;
  std::set<guint64> unfinished_;  // frame numbers
  guint64 finished_ = 0;
  std::weak_ptr<Making> last_;  // the last frame submitted, if its pixels are read later
  std::vector<Staging> staging_;
  std::optional<Error> failure_;
  bool flushing_ = false, stopping_ = false, lending_is_in_the_way_ = false;
  Stats stats_;
};

}  // namespace

Expected<std::unique_ptr<Engine>> make_sharded_engine (const inthist::Shape &shape,
                                                       const Options &options,
                                                       std::vector<ShardDevice> devices,
                                                       const Host &host, int pixel_bytes)
{
  const std::size_t picture =
      (std::size_t (shape.width) * pixel_bytes + 511) / 512 * 512 * shape.height;
  const Sharing sharing = TRY (share_out (
      shape, devices, options, overhead_of (shape, options, host.kind, pixel_bytes, kPartsAtOnce),
      host.relays (shape) ? options.async_depth * picture : 0));
  return ShardedEngine::create (shape, options, sharing, devices, host);
}

}  // namespace integralhist
