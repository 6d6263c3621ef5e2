// SPDX-License-Identifier: LGPL-2.1-or-later
#include "frame_queue.hpp"

#include <algorithm>
#include <iterator>
#include <list>

#include <gst/integralhist/base/cancel.hpp>

namespace integralhist {

Expected<> FrameQueue::no_failure () const
{
  if (failure_)
    return tl::make_unexpected (*failure_);
  return {};
}

Expected<> FrameQueue::await_room ()
{
  Lock lock (mutex_);
  TRY (CancelScope::wait (changed_, lock,
                          [this] { return failure_ || unfinished_.size () < depth_; }));
  TRY (no_failure ());
  return CancelScope::check ();
}

Expected<> FrameQueue::add (const std::shared_ptr<PendingFrame> &pending, int groups)
{
  const std::lock_guard lock (mutex_);
  TRY (no_failure ());
  pending->frame.number = ++added_;
  unfinished_.insert (pending->frame.number);
  pending->users = groups;
  for (int group = 0; group < groups; group++)
    tasks_.push_back ({ pending, group });
  changed_.notify_all ();
  return {};
}

void FrameQueue::hold (PendingFrame &pending, GstBuffer *buffer, bool wait,
                       const std::shared_ptr<Tensor> &tensor)
{
  Lock lock (mutex_);
  if (wait || holds_cause_copies_)
    (void) CancelScope::wait (changed_, lock, [&] { return pending.users == 0; });
  if (pending.users > 0)
    pending.hold = BufferHold (buffer, tensor);
}

Expected<> FrameQueue::finish ()
{
  Lock lock (mutex_);
  (void) CancelScope::wait (changed_, lock, [this] { return failure_ || unfinished_.empty (); });
  return no_failure ();
}

bool FrameQueue::has_failed ()
{
  const std::lock_guard lock (mutex_);
  return failing_ || failure_;
}

void FrameQueue::abandon ()
{
  reports_.end ();
  std::list<Task> dropped;
  {
    const std::lock_guard lock (mutex_);
    const auto is_unheld = [] (const Task &task) { return task.pending->tensor.use_count () == 1; };
    std::ranges::copy_if (tasks_, std::back_inserter (dropped), is_unheld);
    std::erase_if (tasks_, is_unheld);
  }
  for (const Task &task : dropped)
    end_use (*task.pending);
}

void FrameQueue::stop ()
{
  const std::lock_guard lock (mutex_);
  stopping_ = true;
  changed_.notify_all ();
}

void FrameQueue::count (Stats &stats)
{
  const std::lock_guard lock (mutex_);
  stats.frames = added_;
  stats.in_flight = unfinished_.size ();
}

guint64 FrameQueue::n_returned ()
{
  const std::lock_guard lock (mutex_);
  return finished_;
}

Expected<bool> FrameQueue::await_more (guint64 before)
{
  Lock lock (mutex_);
  if (unfinished_.empty () && finished_ == before)
    return false;
  TRY (CancelScope::wait (changed_, lock, [&] { return failure_ || finished_ != before; }));
  TRY (no_failure ());
  return true;
}

Task FrameQueue::take (const Lock &)
{
  Task task = std::move (tasks_.front ());
  tasks_.pop_front ();
  return task;
}

std::shared_ptr<PendingFrame> FrameQueue::take_next_to_fetch (const Lock &, guint64 last_fetched)
{
  if (tasks_.empty ())
    return nullptr;
  const guint64 first = tasks_.front ().pending->frame.number;
  const auto next = std::ranges::find_if (
      tasks_, [&] (const Task &task) { return task.pending->frame.number > last_fetched; });
  if (next == tasks_.end () || next->pending->frame.number > first + 1)
    return nullptr;
  next->pending->users++;
  return next->pending;
}

void FrameQueue::end_use (PendingFrame &pending)
{
  std::shared_ptr<ShardedTensor> tensor;
  {
    // The frame's resources are destroyed in reverse order, before any waiting thread is woken.
    BufferHold hold;
    HostMemory staging;
    std::shared_ptr<void> uploaded;  // destruction waits for the upload, which reads the buffers
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

void FrameQueue::fail (const Task &task, const Error &failure)
{
  std::list<Task> dropped;
  failing_ = true;
  const bool reported = reports_.fail (failure);  // reported before waiting threads see the failure
  {
    const std::lock_guard lock (mutex_);
    if (!failure_)
      failure_ = failure;
    dropped.assign (tasks_.begin (), tasks_.end ());
    tasks_.clear ();
    changed_.notify_all ();
  }
  task.pending->tensor->fail (failure, reported);
  for (const Task &one : dropped) {
    one.pending->tensor->fail (failure, reported);
    end_use (*one.pending);
  }
}

AwaitedMemory FrameQueue::awaited_memory (const PendingFrame &pending, unsigned out)
{
  const std::lock_guard lock (mutex_);
  const bool may_come =
      !stopping_ && !failure_
      && ((waits_ && out != unfinished_.size ()) || *unfinished_.begin () < pending.frame.number);
  return { may_come, out - std::min (out, unsigned (unfinished_.size ())) };
}

}  // namespace integralhist
