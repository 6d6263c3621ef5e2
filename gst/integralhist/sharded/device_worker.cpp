// SPDX-License-Identifier: LGPL-2.1-or-later
#include "device_worker.hpp"

#include <utility>

namespace integralhist {
namespace {

// How long a device's thread waits before it looks again for what cannot wake it: the end of a
// part, a free slot or uploaded pixels, or memory that other programs return.
constexpr std::chrono::microseconds kPartPoll (50), kSlotPoll (1000);
constexpr GstClockTime kLastPart = 100 * GST_USECOND;  // if no parts may start
constexpr std::chrono::milliseconds kMemoryPoll (20);
constexpr int kPollsASecond = 50;

}  // namespace

Expected<> DeviceWorker::start ()
{
  thread_ = TRY (Thread::start ("integralhist-device", [this] { work (); }));
  return {};
}

/// The loop of a device's thread. A step is the first of these that is possible: start the next
/// task, fetch the next frame, end a part that is done, or wait. Tasks and uploads run without
/// the lock, so that other threads can queue tasks.
void DeviceWorker::work ()
{
  auto lock = queue_.lock ();
  const auto unlocked = [&lock] (auto &&step) {
    lock.unlock ();
    step ();
    lock.lock ();
  };
  for (;;) {
    if (fetching_ && engine_->has_fetched (fetching_->frame))
      unlocked ([this] { queue_.end_use (*std::exchange (fetching_, nullptr)); });
    const bool may_take = running_.size () < kPartsAtOnce;
    if (!queue_.is_empty (lock) && may_take && engine_->is_free ()) {
      const Task task = queue_.take (lock);
      unlocked ([&] { start_parts (task); });
    } else if (take_next_to_fetch (lock)) {
      unlocked ([this] { engine_->fetch (fetching_->frame); });
    } else if (!running_.empty ()) {
      unlocked ([&] { end_oldest (may_take ? 0 : kLastPart); });
      if (may_take && !running_.empty ())
        queue_.wait_for (lock, kPartPoll);
    } else if (!queue_.is_empty (lock) || fetching_) {
      queue_.wait_for (lock, kSlotPoll);  // waits for memory or a slot that earlier frames use
    } else if (queue_.is_stopping (lock)) {
      return;
    } else {
      queue_.wait (lock);
    }
  }
}

/// Takes the queue's next frame, whose pixels the device should fetch early, and stores it in
/// fetching_. Returns false if no frame is new, or if frames have strips.
bool DeviceWorker::take_next_to_fetch (const FrameQueue::Lock &lock)
{
  if (partition_.strips > 1 || fetching_)
    return false;
  fetching_ = queue_.take_next_to_fetch (lock, last_fetched_);
  if (fetching_)
    last_fetched_ = fetching_->frame.number;
  return fetching_ != nullptr;
}

void DeviceWorker::start_parts (const Task &task)
{
  for (int strip = 0; strip < partition_.strips; strip++) {
    const Part part = partition_.part (shape_, task.group, strip);
    auto tensor = submit_part (*task.pending, part);
    if (!tensor) {
      fail (task, tensor.error ());
      while (!running_.empty ())  // because earlier strips may still read the frame's pixels
        end_oldest (GST_CLOCK_TIME_NONE);
      return queue_.end_use (*task.pending);
    }
    running_.push_back ({ task, part, std::move (*tensor), strip + 1 == partition_.strips });
  }
}

/// Submits a part of a frame to the device's engine. If memory is short, because other programs
/// took some since the engine was made, waits while some may come back.
Expected<std::shared_ptr<EngineTensor>> DeviceWorker::submit_part (const PendingFrame &pending,
                                                                   const Part &part)
{
  if (faulty_ > 0 && ++n_started_ == faulty_)
    return tl::make_unexpected (Error (Error::Kind::failed,
                                       "a fault that INTEGRALHIST_FAULT asked for",
                                       name_of (std::source_location::current ())));
  while (running_.size () >= kPartsAtOnce)
    end_oldest (GST_CLOCK_TIME_NONE);
  bool warned = false;
  for (int waited = 0;; waited++) {
    auto tensor = engine_->submit_part (pending.frame, part, pending.tensor->host_destination ());
    if (tensor || tensor.error ().kind != Error::Kind::no_memory)
      return tensor;
    if (!running_.empty ()) {
      end_oldest (GST_CLOCK_TIME_NONE);
      continue;
    }
    const AwaitedMemory awaited = queue_.awaited_memory (pending, pool_.n_out ());
    if (!awaited.may_come)
      return tensor;
    auto lock = queue_.lock ();
    queue_.wait_for (lock, kMemoryPoll);
    lock.unlock ();
    if (waited >= kPollsASecond && awaited.held > 0 && !std::exchange (warned, true))
      queue_.warn_of_wait (awaited.held);
  }
}

/// Ends the oldest running part of a frame if the device computes it within the timeout.
void DeviceWorker::end_oldest (GstClockTime timeout)
{
  RunningPart &oldest = running_.front ();
  const auto outcome = oldest.tensor->wait_for_copy (timeout);
  if (!outcome && outcome.error ().kind == Error::Kind::timeout)
    return;
  if (!outcome)
    fail (oldest.task, outcome.error ());
  else if (oldest.last)
    oldest.task.pending->tensor->finish (oldest.task.group, oldest.part, std::move (oldest.tensor));
  const RunningPart done = std::move (oldest);
  running_.pop_front ();
  n_parts_ += outcome.has_value ();
  if (done.last)
    queue_.end_use (*done.task.pending);
}

void DeviceWorker::fail (const Task &task, const Error &error)
{
  const bool others = partition_.tensors.size () > 1 && error.kind != Error::Kind::no_memory;
  queue_.fail (
      task,
      Error (error.kind,
             joined ("device ", device_, " failed: ", error.message,
                     others ? "; leave it out of cuda-device-ids to compute on the others" : ""),
             error.detail));
}

}  // namespace integralhist
