// SPDX-License-Identifier: LGPL-2.1-or-later
#include "sharded_engine.hpp"

#include <list>
#include <optional>
#include <set>
#include <utility>

#include "buffer_hold.hpp"
#include "check_threads.hpp"
#include "fault.hpp"
#include "memory_returns.hpp"
#include "picture_rows.hpp"
#include "reports.hpp"
#include "staging_buffers.hpp"
#include "tensor_pool.hpp"
#include "thread.hpp"
#include "trace.hpp"

namespace integralhist {
namespace {

// What a device's thread waits for without being woken, and how long it goes without looking
constexpr std::chrono::microseconds kPartPoll (50), kSlotPoll (1000);  // a part, a slot or pixels
constexpr GstClockTime kLastPart = 100 * GST_USECOND;                  // as many parts as may be
constexpr std::chrono::milliseconds kMemoryPoll (20);                  // memory of others
constexpr int kPollsASecond = 50;

/// A frame in flight, whose pixels are read or will be.
struct PendingFrame {
  PartFrame frame;
  std::shared_ptr<ShardedTensor> tensor;
  HostMemory staging;              // with the pixels, where they were not pinned
  BufferHold hold;                 // on the buffer with the pixels
  std::shared_ptr<void> uploaded;  // keeps the pixels on a device; reads the buffer until then
  int users = 0;                   // unfinished tasks, and devices that fetch the pixels
};

struct Task {
  std::shared_ptr<PendingFrame> pending;
  int group = 0;
};

/// A part in flight on a device.
struct RunningPart {
  Task task;
  Part part;
  std::shared_ptr<EngineTensor> tensor;
  bool last;  // of its task's parts
};

class ShardedEngine final : public Engine, MemoryReturns {
public:
  ShardedEngine (const inthist::Shape &shape, const Options &options, const Partition &partition,
                 const DeviceFunctions &functions)
      : shape_ (shape), depth_ (options.async_depth), reports_ (options), partition_ (partition),
        functions_ (functions), staging_ (std::make_shared<StagingBuffers> (functions.allocate))
  {
  }

  /// Makes the first tensor and the devices' engines, and starts the threads.
  Expected<> open (const Options &options, const std::vector<ShardDevice> &devices)
  {
    const char *const fault = g_getenv ("INTEGRALHIST_FAULT");
    fault_ = TRY (parse_fault (fault ? fault : ""));
    Options of_frames = options;
    // Lets every task of an accepted frame find room.
    if (partition_.frames > 0
        && (options.max_tensors == 0 || options.max_tensors > partition_.frames))
      of_frames.max_tensors = partition_.frames;
    const auto make = [shape = shape_, partition = partition_, download = options.download,
                       allocate = functions_.allocate,
                       cancelled = options.cancelled] (unsigned alive) {
      return ShardedTensor::create (shape, partition, download, allocate, alive, cancelled);
    };
    pool_ = TRY (TensorPool::create (make, of_frames));
    if (!partition_.resident)  // the host joins the parts, and answers questions
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
    if (partition_.strips > 1 && shape_.counter == inthist::Type::u16_anchored)
      part_shape.counter = inthist::Type::u16;  // anchors need all rows
    for (std::size_t d = 0; d < devices.size (); d++) {
      of_parts.max_tensors = partition_.tensors[d];
      auto worker = std::make_unique<Worker> ();
      worker->id = devices[d].id;
      worker->engine =
          TRY (devices[d].make_engine (part_shape, of_parts, { partition_.bins, partition_.rows }));
      workers_.push_back (std::move (worker));
    }
    for (auto &worker : workers_)
      worker->thread =
          TRY (Thread::start ("integralhist-device", [this, w = worker.get ()] { work (*w); }));
    return {};
  }

  ~ShardedEngine () override { stop (); }

  Expected<std::shared_ptr<Tensor>> submit (const Frame &frame) override
  {
    const TraceRange range ("integral histogram: divide");
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
    auto pending = std::make_shared<PendingFrame> ();
    pending->frame = PartFrame{ frame };
    pending->tensor = tensor;
    pending->users = partition_.groups;
    if (frame.place == Place::host)
      TRY (stage (*pending));
    else
      TRY (functions_.await_producer (frame));
    const std::size_t pixels =
        std::size_t (shape_.width) * shape_.height * frame.image.format.bytes;
    const bool for_peers = peers_copy () && frame.place != Place::device;
    if (for_peers)
      pending->uploaded = TRY (functions_.upload (pending->frame, shape_.width, shape_.height));

    const std::lock_guard lock (mutex_);
    TRY (no_failure ());
    if (for_peers)
      stats_.bytes_up += pixels;
    pending->frame.number = ++stats_.frames;
    unfinished_.insert (pending->frame.number);
    for (int group = 0; group < partition_.groups; group++)
      queue_.push_back ({ pending, group });
    last_ = frame.place == Place::host ? nullptr : pending;
    changed_.notify_all ();
    return tensor;
  }

  Expected<> hold (GstBuffer *buffer, const std::shared_ptr<Tensor> &tensor) override
  {
    std::unique_lock lock (mutex_);
    const auto pending = last_.lock ();
    if (holds_cause_copies_)
      changed_.wait (lock, [&] { return flushing_ || !pending || pending->users == 0; });
    if (pending && pending->users > 0)
      pending->hold = BufferHold (buffer, tensor);
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
    reports_.end ();
    std::list<Task> dropped;
    {
      const std::lock_guard lock (mutex_);
      const auto is_unheld = [] (const Task &task) {
        return task.pending->tensor.use_count () == 1;
      };
      std::ranges::copy_if (queue_, std::back_inserter (dropped), is_unheld);
      std::erase_if (queue_, is_unheld);
    }
    for (const Task &task : dropped)
      end_use (*task.pending);
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
      stats.parts.push_back ({ worker->id, worker->parts });
    return stats;
  }

  const Plan &plan () const override { return workers_.front ()->engine->plan (); }

  std::string description () const override
  {
    const auto count = [] (int n, const std::string &what) {
      return joined (n, " ", what, n == 1 ? "" : "s");
    };
    std::string devices;
    for (const auto &worker : workers_)
      devices.append (devices.empty () ? "" : ",").append (std::to_string (worker->id));
    return "frames in " + count (partition_.groups, "task") + " of at most "
           + count (partition_.bins, "bin")
           + (partition_.strips > 1 ? ", each in " + count (partition_.strips, "strip") + " of rows"
                                    : "")
           + ", for " + (workers_.size () == 1 ? "device " : "devices ") + devices + "; "
           + (partition_.resident ? "at most " + count (int (partition_.frames), "tensor")
                                        + ", in shards that stay there"
                                  : "in rounds, tensors in host memory")
           + (peers_copy () ? "; pictures go up once, and from device to device" : "");
  }

private:
  /// Returns whether a picture is uploaded once, and copied from device to device.
  bool peers_copy () const { return partition_.resident && functions_.peers_copy (shape_); }

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
    std::shared_ptr<PendingFrame> fetching;
    std::unique_ptr<PartEngine> engine;
    Thread thread;
  };

  /// Returns a free tensor. Where there is no memory for another, it waits for a frame in flight.
  Expected<std::shared_ptr<ShardedTensor>> next_tensor ()
  {
    return std::static_pointer_cast<ShardedTensor> (TRY (pool_->acquire (*this)));
  }

  // Frames that are finished return memory.

  guint64 n_returned () override
  {
    const std::lock_guard lock (mutex_);
    return finished_;
  }

  Expected<bool> await_more (guint64 before) override
  {
    std::unique_lock lock (mutex_);
    if (unfinished_.empty () && finished_ == before)
      return false;
    changed_.wait (lock, [&] { return flushing_ || failure_ || finished_ != before; });
    TRY (no_failure ());
    if (flushing_)
      return error (Error::Kind::flushing, "flushing");
    return true;
  }

  Expected<> no_failure () const
  {
    if (failure_)
      return tl::make_unexpected (*failure_);
    return {};
  }

  /// Copies the pixels to a staging buffer, because the devices read them later.
  Expected<> stage (PendingFrame &pending)
  {
    const PictureRows rows = rows_of (pending.frame.image, shape_.width, shape_.height);
    pending.staging = TRY (staging_->take (rows.size ()));
    const PictureRows staged = integralhist::stage (rows, pending.staging.get ());
    pending.frame.image.data = staged.data;
    pending.frame.image.stride = staged.stride;
    pending.frame.place = Place::pinned;
    const std::lock_guard lock (mutex_);
    stats_.bytes_staged += rows.bytes * rows.n;
    return {};
  }

  /// Takes the next task whenever the device is free, and ends the parts that are done.
  void work (Worker &worker)
  {
    std::list<RunningPart> running;
    std::unique_lock lock (mutex_);
    for (;;) {
      if (worker.fetching && worker.engine->has_fetched (worker.fetching->frame)) {
        lock.unlock ();
        end_use (*std::exchange (worker.fetching, nullptr));
        lock.lock ();
      }
      const bool take =
          !queue_.empty () && running.size () < kPartsAtOnce && worker.engine->is_free ();
      if (take) {
        const Task task = std::move (queue_.front ());
        queue_.pop_front ();
        lock.unlock ();
        start (worker, task, running);
        lock.lock ();
      } else if (take_next_to_fetch (worker)) {
        lock.unlock ();
        worker.engine->expect (worker.fetching->frame);
        lock.lock ();
      } else if (!running.empty ()) {
        // there may be a task to take, or pixels to fetch, meanwhile
        const bool may_take = running.size () < kPartsAtOnce;
        lock.unlock ();
        end_oldest (worker, running, may_take ? 0 : kLastPart);
        lock.lock ();
        if (may_take && !running.empty ())
          changed_.wait_for (lock, kPartPoll);
      } else if (!queue_.empty () || worker.fetching) {
        changed_.wait_for (lock, kSlotPoll);  // its memory is held
      } else if (stopping_) {
        return;
      } else {
        changed_.wait (lock);
      }
    }
  }

  /// Takes the frame whose pixels the device should fetch: that of the next tasks or the one after
  /// it, unless it was announced already. Strips are fetched when they are computed. Returns false
  /// where there is none.
  bool take_next_to_fetch (Worker &worker)
  {
    if (queue_.empty () || partition_.strips > 1 || worker.fetching)
      return false;
    const guint64 first = queue_.front ().pending->frame.number;
    const auto next = std::ranges::find_if (
        queue_, [&] (const Task &task) { return task.pending->frame.number > worker.expected; });
    if (next == queue_.end () || next->pending->frame.number > first + 1)
      return false;
    worker.fetching = next->pending;
    worker.fetching->users++;  // until the pixels are there, whichever device computes the frame
    worker.expected = worker.fetching->frame.number;
    return true;
  }

  void start (Worker &worker, const Task &task, std::list<RunningPart> &running)
  {
    for (int strip = 0; strip < partition_.strips; strip++) {
      const Part part = partition_.part (shape_, task.group, strip);
      auto tensor = submit_part (worker, *task.pending, part, running);
      if (!tensor) {
        fail (worker, task, tensor.error ());
        while (!running.empty ())  // earlier strips may still read the pixels
          end_oldest (worker, running, GST_CLOCK_TIME_NONE);
        return end_use (*task.pending);
      }
      running.push_back ({ task, part, std::move (*tensor), strip + 1 == partition_.strips });
    }
  }

  /// Returns whether other frames may return memory before this one is done: frames that somebody
  /// holds, or older ones on other devices. `held` is set to the number held.
  bool may_get_memory (const PendingFrame &pending, unsigned *held)
  {
    const unsigned out = pool_->n_out ();
    const std::lock_guard lock (mutex_);
    *held = out - std::min (out, unsigned (unfinished_.size ()));
    return !stopping_ && !failure_
           && (out != unfinished_.size () || *unfinished_.begin () < pending.frame.number);
  }

  /// Submits a part. Its memory was counted when the engine was made; where others have taken it
  /// since, this waits while some may come back.
  Expected<std::shared_ptr<EngineTensor>> submit_part (Worker &worker, const PendingFrame &pending,
                                                       const Part &part,
                                                       std::list<RunningPart> &running)
  {
    if (fault_ && worker.id == fault_->device && ++parts_started_ == fault_->part)
      return error (Error::Kind::failed, "a fault that INTEGRALHIST_FAULT asked for");
    while (running.size () >= kPartsAtOnce)
      end_oldest (worker, running, GST_CLOCK_TIME_NONE);
    bool warned = false;
    for (int waited = 0;; waited++) {
      auto tensor =
          worker.engine->submit_part (pending.frame, part, pending.tensor->host_destination ());
      if (tensor || tensor.error ().kind != Error::Kind::no_memory)
        return tensor;
      if (!running.empty ()) {
        end_oldest (worker, running, GST_CLOCK_TIME_NONE);
        continue;
      }
      unsigned held;
      if (!may_get_memory (pending, &held))
        return tensor;
      std::unique_lock lock (mutex_);
      changed_.wait_for (lock, kMemoryPoll);
      lock.unlock ();
      if (waited >= kPollsASecond && held > 0 && !std::exchange (warned, true))
        reports_.warn_of_wait (held);
    }
  }

  /// Ends the oldest part, if it is done within the timeout.
  void end_oldest (Worker &worker, std::list<RunningPart> &running, GstClockTime timeout)
  {
    RunningPart &oldest = running.front ();
    const auto outcome = oldest.tensor->wait_for_copy (timeout);
    if (!outcome && outcome.error ().kind == Error::Kind::timeout)
      return;
    if (!outcome)
      fail (worker, oldest.task, outcome.error ());
    else if (oldest.last)
      oldest.task.pending->tensor->finish (oldest.task.group, oldest.part,
                                           std::move (oldest.tensor));
    const RunningPart done = std::move (oldest);
    running.pop_front ();
    {
      const std::lock_guard lock (mutex_);
      worker.parts += outcome.has_value ();
    }
    if (done.last)
      end_use (*done.task.pending);
  }

  /// Ends one use of a frame: a task that is done or dropped, or a device's fetch of the pixels.
  void end_use (PendingFrame &pending)
  {
    std::shared_ptr<ShardedTensor> tensor;
    {
      // dropped in the reverse order, all before a waiting thread is woken
      BufferHold hold;
      HostMemory staging;
      std::shared_ptr<void> uploaded;  // waits for the upload, which reads the buffers
      const std::lock_guard lock (mutex_);
      if (--pending.users > 0)
        return;
      uploaded = std::move (pending.uploaded);
      staging = std::move (pending.staging);
      hold = std::move (pending.hold);
      if (hold.end ())
        holds_cause_copies_ = true;
      tensor = std::move (pending.tensor);
    }
    tensor.reset ();
    const std::lock_guard lock (mutex_);
    unfinished_.erase (pending.frame.number);
    finished_++;
    changed_.notify_all ();
  }

  /// Ends all tasks with the first failure.
  void fail (const Worker &worker, const Task &task, const Error &error)
  {
    std::list<Task> dropped;
    const bool others = workers_.size () > 1 && error.kind != Error::Kind::no_memory;
    const Error failure (
        error.kind,
        joined ("device ", worker.id, " failed: ", error.message,
                others ? "; leave it out of cuda-device-ids to compute on the others" : ""));
    failing_ = true;
    const bool reported = reports_.fail (failure);  // before anybody else learns of it
    {
      const std::lock_guard lock (mutex_);
      if (!failure_)
        failure_ = failure;
      dropped.assign (queue_.begin (), queue_.end ());
      queue_.clear ();
      changed_.notify_all ();
    }
    task.pending->tensor->fail (failure, reported);
    for (const Task &one : dropped) {
      one.pending->tensor->fail (failure, reported);
      end_use (*one.pending);
    }
  }

  const inthist::Shape shape_;
  const unsigned depth_;
  Reports reports_;                    // never called with mutex_ held
  std::atomic<bool> failing_ = false;  // set before the failure is reported, failure_ after it
  const Partition partition_;
  const DeviceFunctions functions_;
  const std::shared_ptr<StagingBuffers> staging_;
  std::optional<Fault> fault_;
  std::atomic<int> parts_started_ = 0;
  std::shared_ptr<TensorPool> pool_;
  std::vector<std::unique_ptr<Worker>> workers_;

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<Task> queue_;
  std::set<guint64> unfinished_;  // frame numbers
  guint64 finished_ = 0;
  std::weak_ptr<PendingFrame> last_;  // the last frame submitted, if its pixels are read later
  std::optional<Error> failure_;
  bool flushing_ = false, stopping_ = false, holds_cause_copies_ = false;
  Stats stats_;
};

}  // namespace

Expected<std::unique_ptr<Engine>> make_sharded_engine (const inthist::Shape &shape,
                                                       const Options &options,
                                                       std::vector<ShardDevice> devices,
                                                       const DeviceFunctions &functions,
                                                       int pixel_bytes)
{
  const std::size_t picture = most_picture_bytes (shape.width, pixel_bytes, shape.height);
  const Partition partition =
      TRY (divide (shape, devices, options,
                   overhead_of (shape, options, functions.kind, pixel_bytes, kPartsAtOnce),
                   functions.peers_copy (shape) ? options.async_depth * picture : 0));
  auto engine = std::make_unique<ShardedEngine> (shape, options, partition, functions);
  TRY (engine->open (options, devices));
  return engine;
}

}  // namespace integralhist
