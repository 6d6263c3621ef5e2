// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The frames that a sharded engine has in flight, and the queue of their tasks (groups of bins).
// The streaming thread adds frames; the thread of each device takes tasks (device_worker.hpp).
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include <gst/integralhist/engine/buffer_hold.hpp>
#include <gst/integralhist/engine/options.hpp>
#include <gst/integralhist/engine/part_engine.hpp>
#include <gst/integralhist/memory/memory_returns.hpp>

#include "sharded_tensor.hpp"

namespace integralhist {

/// A frame in flight: some of its tasks are not done, so devices still read its pixels.
struct PendingFrame {
  PartFrame frame;
  std::shared_ptr<ShardedTensor> tensor;
  HostMemory staging;              // a copy of the pixels, if they lay in unpinned memory
  BufferHold hold;                 // keeps the GstBuffer with the pixels
  std::shared_ptr<void> uploaded;  // owns the pixels on the device that uploaded them for all
  int users = 0;  // number of unfinished tasks and of devices that fetch the pixels
};

/// A task, the unit of work for a device: a group of consecutive bins of a frame.
struct Task {
  std::shared_ptr<PendingFrame> pending;
  int group = 0;
};

struct AwaitedMemory {
  bool may_come;  // consumers or other frames may return memory before this frame is done
  unsigned held;  // tensors that consumers hold
};

/// Tells the application about the first failure of an engine, and about long waits for tensors.
/// Nothing is reported after end (), which waits for running reports.
class Reports {
public:
  explicit Reports (const Options &options)
      : on_failure_ (options.on_failure), on_long_wait_ (options.on_long_wait)
  {
  }

  /// Reports the engine's failure if it is the first. Returns whether any failure was reported.
  bool fail (const Error &failure)
  {
    const std::lock_guard lock (mutex_);
    if (!on_failure_)
      return false;
    if (!std::exchange (reported_, true)) {
      const auto on_failure = on_failure_;  // the callback may reset on_failure_
      on_failure (failure);
    }
    return true;
  }

  /// Warns that a frame waits for a tensor, with the number `most` of tensors in use.
  void warn_of_wait (unsigned most)
  {
    const std::lock_guard lock (mutex_);
    if (const auto warn = on_long_wait_)
      warn (most);
  }

  void end ()
  {
    const std::lock_guard lock (mutex_);
    on_failure_ = nullptr;
    on_long_wait_ = nullptr;
  }

private:
  std::recursive_mutex mutex_;  // guards all below; recursive, as a callback may call end ()
  std::function<void (const Error &)> on_failure_;
  std::function<void (unsigned)> on_long_wait_;
  bool reported_ = false;
};

/// Each finished frame counts as a return of memory (MemoryReturns).
class FrameQueue final : public MemoryReturns {
public:
  using Lock = std::unique_lock<std::mutex>;

  explicit FrameQueue (const Options &options)
      : depth_ (options.async_depth), waits_ (options.waits_for_tensors), reports_ (options)
  {
  }

  /// Waits until fewer than options.async_depth frames are in flight, so that one can be added.
  Expected<> await_room ();
  /// Gives a frame the next number, and queues one task for each of its groups of bins.
  Expected<> add (const std::shared_ptr<PendingFrame> &pending, int groups);
  /// Holds a frame's GstBuffer until devices have read its pixels (BufferHold), or waits for that.
  void hold (PendingFrame &pending, GstBuffer *buffer, bool wait,
             const std::shared_ptr<Tensor> &tensor);
  Expected<> finish ();
  bool has_failed ();
  /// Drops queued frames whose tensors no consumer holds. From then on nothing is reported.
  void abandon ();
  /// Tells the threads of the devices to end once the queue of tasks is empty.
  void stop ();
  void count (Stats &stats);

  guint64 n_returned () override;
  Expected<bool> await_more (guint64 before) override;

  // A device's thread calls the functions below with the queue's lock, to choose its next step.

  Lock lock () { return Lock (mutex_); }
  bool is_empty (const Lock &) const { return tasks_.empty (); }
  bool is_stopping (const Lock &) const { return stopping_; }
  void wait (Lock &lock) { changed_.wait (lock); }
  void wait_for (Lock &lock, std::chrono::microseconds time) { changed_.wait_for (lock, time); }
  Task take (const Lock &);
  /// Returns the frame of the next task or the one after it, if its number is above `last_fetched`,
  /// or null. The caller fetches the pixels, as a user of the frame until end_use ().
  std::shared_ptr<PendingFrame> take_next_to_fetch (const Lock &, guint64 last_fetched);

  // A device's thread calls the functions below without the lock of the queue.

  /// Notes that a user of a frame is done: a task is done or dropped, or a device has fetched the
  /// pixels. A frame without users is finished.
  void end_use (PendingFrame &pending);
  /// Drops all tasks because `task` has failed. Only the first failure of an engine counts.
  void fail (const Task &task, const Error &failure);
  /// Returns whether a frame may wait for memory, of tensors that consumers hold or of older frames
  /// on other devices. `out` is the number of the pool's tensors in use.
  AwaitedMemory awaited_memory (const PendingFrame &pending, unsigned out);
  void warn_of_wait (unsigned held) { reports_.warn_of_wait (held); }

private:
  Expected<> no_failure () const;

  const unsigned depth_;
  const bool waits_;                   // whether frames wait for tensors that consumers hold
  Reports reports_;                    // never called with mutex_ held
  std::atomic<bool> failing_ = false;  // set before a failure is reported; failure_ is set after

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::set<guint64> unfinished_;  // frame numbers
  guint64 added_ = 0, finished_ = 0;
  std::optional<Error> failure_;
  bool stopping_ = false, holds_cause_copies_ = false;
};

}  // namespace integralhist
