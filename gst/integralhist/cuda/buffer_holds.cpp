// SPDX-License-Identifier: LGPL-2.1-or-later
#include "buffer_holds.hpp"

#include "cuda_error.hpp"
#include "cuda_event.hpp"

namespace integralhist {

Expected<std::unique_ptr<BufferHolds>> BufferHolds::create (Context context)
{
  std::unique_ptr<BufferHolds> holds (new BufferHolds (std::move (context)));
  holds->watcher_ = TRY (Thread::start ("integralhist-holds", [h = holds.get ()] { h->watch (); }));
  return holds;
}

BufferHolds::~BufferHolds ()
{
  {
    const std::lock_guard lock (mutex_);
    stopping_ = true;
    changed_.notify_one ();
  }
  watcher_.join ();
}

Expected<> BufferHolds::hold_until_read (GstBuffer *buffer, std::shared_ptr<Tensor> tensor,
                                         cudaEvent_t read)
{
  return on (*context_, [&] () -> Expected<> {
    if (cause_copies_) {
      TRY (await (read));
    } else if (!has_fired (read)) {
      const std::lock_guard lock (mutex_);
      holds_.push_back ({ BufferHold (buffer, std::move (tensor)), read });
      if (asleep_)
        changed_.notify_one ();
    }
    return {};
  });
}

void BufferHolds::drop_read ()
{
  for (;;) {
    {
      BufferHold oldest;  // dropped without the lock
      const std::lock_guard lock (mutex_);
      // after a failure nothing more is read either; the next frame reports it
      if (holds_.empty () || !has_fired (holds_.front ().read))
        return;
      oldest = std::move (holds_.front ().hold);
      if (oldest.end ())
        cause_copies_ = true;
      holds_.pop_front ();
      dropping_++;
    }
    const std::lock_guard lock (mutex_);
    dropping_--;
    n_dropped_++;
    dropped_.notify_all ();
  }
}

guint64 BufferHolds::n_returned ()
{
  const std::lock_guard lock (mutex_);
  return n_dropped_;
}

Expected<bool> BufferHolds::await_more (guint64 before)
{
  return TRY (drop_oldest ()) || n_returned () != before;
}

Expected<bool> BufferHolds::drop_oldest ()
{
  cudaEvent_t read;
  {
    std::unique_lock lock (mutex_);
    if (holds_.empty ()) {
      const bool some = dropping_ > 0;
      dropped_.wait (lock, [this] { return dropping_ == 0; });
      return some;
    }
    read = holds_.front ().read;
  }
  TRY (await (read));
  drop_read ();
  return true;
}

void BufferHolds::watch ()
{
  std::unique_lock lock (mutex_);
  while (!stopping_) {
    asleep_ = holds_.empty ();
    if (asleep_)
      changed_.wait (lock, [this] { return stopping_ || !holds_.empty (); });
    asleep_ = false;
    if (changed_.wait_for (lock, std::chrono::milliseconds (1), [this] { return stopping_; }))
      return;
    lock.unlock ();
    {
      const CudaContext::Scope scope (*context_);
      drop_read ();
    }
    lock.lock ();
  }
}

}  // namespace integralhist
