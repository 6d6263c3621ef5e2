// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Holds the input buffers that a GPU still reads (BufferHold). When the CUDA event after the read
// has fired, the hold is dropped by the next frame, or within 1 ms by a thread, because the next
// frame may wait for that buffer.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>

#include <gst/integralhist/base/thread.hpp>
#include <gst/integralhist/cuda/base/cuda_error.hpp>
#include <gst/integralhist/cuda/base/cuda_event.hpp>
#include <gst/integralhist/cuda/base/in_context.hpp>
#include <gst/integralhist/engine/buffer_hold.hpp>
#include <gst/integralhist/memory/memory_returns.hpp>

namespace integralhist {

class BufferHolds final : public MemoryReturns {
public:
  static Expected<std::unique_ptr<BufferHolds>> create (ContextRef context)
  {
    std::unique_ptr<BufferHolds> holds (new BufferHolds (std::move (context)));
    holds->watcher_ =
        TRY (Thread::start ("integralhist-holds", [h = holds.get ()] { h->watch (); }));
    return holds;
  }
  /// Drops all holds on buffers. The CUDA events after the GPU's reads must have fired.
  ~BufferHolds () override
  {
    {
      const std::lock_guard lock (mutex_);
      stopping_ = true;
      changed_.notify_one ();
    }
    watcher_.join ();
  }

  /// Holds a buffer until the CUDA event `read` fires. If `wait`, or once an element downstream has
  /// copied a held buffer, waits for the event instead. The event may be recorded again only after
  /// it has fired and drop_read () was called.
  Expected<> hold_until_read (GstBuffer *buffer, bool wait, std::shared_ptr<Tensor> tensor,
                              cudaEvent_t read)
  {
    return with_context (*context_, [&] () -> Expected<> {
      if (wait || cause_copies_) {
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
  /// Drops the holds on buffers that the GPU has read. The CUDA context must be current.
  void drop_read ()
  {
    for (;;) {
      {
        BufferHold oldest;  // dropped without the lock
        const std::lock_guard lock (mutex_);
        // An event also fires after a CUDA failure, which the next frame reports.
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
  /// Waits until the GPU has read the oldest held buffer, and drops the hold. If another thread is
  /// dropping the last holds, waits for that thread. Returns false if no buffer is held.
  Expected<bool> drop_oldest ()
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

  guint64 n_returned () override
  {
    const std::lock_guard lock (mutex_);
    return n_dropped_;
  }
  Expected<bool> await_more (guint64 before) override
  {
    return TRY (drop_oldest ()) || n_returned () != before;
  }

private:
  explicit BufferHolds (ContextRef context) : context_ (std::move (context)) {}

  struct Entry {
    BufferHold hold;
    cudaEvent_t read;
  };

  void watch ()
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

  const ContextRef context_;
  std::atomic<bool> cause_copies_ = false;  // an element downstream has copied a held buffer
  std::mutex mutex_;                        // guards all below
  std::condition_variable changed_, dropped_;
  unsigned dropping_ = 0;  // holds that have left holds_, but are not dropped yet
  guint64 n_dropped_ = 0;
  std::deque<Entry> holds_;  // the hold whose buffer the GPU reads first is in front
  bool asleep_ = false, stopping_ = false;
  Thread watcher_;
};

}  // namespace integralhist
