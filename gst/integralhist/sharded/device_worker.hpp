// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <atomic>
#include <list>
#include <memory>

#include <gst/integralhist/base/thread.hpp>
#include <gst/integralhist/engine/tensor_pool.hpp>

#include "frame_queue.hpp"
#include "partition.hpp"

namespace integralhist {

/// One device of a sharded engine. A thread takes tasks (groups of a frame's bins) from the queue
/// of all devices, and gives the parts of each task to the device's part engine.
class DeviceWorker {
public:
  /// For tests, the `faulty`-th part of the device fails, counted from 1; 0 for no fault.
  DeviceWorker (int device, std::unique_ptr<PartEngine> engine, const Shape &shape,
                const Partition &partition, TensorPool &pool, FrameQueue &queue, int faulty)
      : device_ (device), faulty_ (faulty), shape_ (shape), partition_ (partition), pool_ (pool),
        queue_ (queue), engine_ (std::move (engine))
  {
  }

  Expected<> start ();
  /// Waits until the device's thread has ended, as FrameQueue::stop () tells it to.
  void join () { thread_.join (); }

  int device () const { return device_; }
  PartEngine &engine () const { return *engine_; }
  guint64 n_parts () const { return n_parts_; }

private:
  struct RunningPart {
    Task task;
    Part part;
    std::shared_ptr<EngineTensor> tensor;
    bool last;  // whether this is the last part of the task
  };

  void work ();
  bool take_next_to_fetch (const FrameQueue::Lock &lock);
  void start_parts (const Task &task);
  Expected<std::shared_ptr<EngineTensor>> submit_part (const PendingFrame &pending,
                                                       const Part &part);
  void end_oldest (GstClockTime timeout);
  void fail (const Task &task, const Error &error);

  const int device_, faulty_;
  const Shape shape_;
  const Partition &partition_;
  TensorPool &pool_;
  FrameQueue &queue_;
  std::atomic<guint64> n_parts_ = 0;
  const std::unique_ptr<PartEngine> engine_;

  // Only the device's thread uses the members below.
  int n_started_ = 0;
  std::list<RunningPart> running_;
  guint64 last_fetched_ = 0;                // number of the last frame that was fetched early
  std::shared_ptr<PendingFrame> fetching_;  // that frame, until its pixels have arrived

  Thread thread_;
};

}  // namespace integralhist
