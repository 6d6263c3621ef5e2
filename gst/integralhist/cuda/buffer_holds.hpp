// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Holds on the buffers that a device reads. The next frame drops a hold once its event has fired,
// or a thread does within 1 ms: that frame may need the buffer.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>

#include <cuda_runtime.h>

#include <gst/integralhist/base/thread.hpp>
#include <gst/integralhist/engine/buffer_hold.hpp>
#include <gst/integralhist/memory/memory_returns.hpp>

#include "in_context.hpp"

namespace integralhist {

class BufferHolds final : public MemoryReturns {
public:
  static Expected<std::unique_ptr<BufferHolds>> create (Context context);
  /// Drops all holds; their events must have fired.
  ~BufferHolds () override;

  /// Holds a buffer until `read` fires, or waits for that once an element downstream has copied a
  /// held buffer. `read` may be recorded again only after it has fired and drop_read () was called.
  Expected<> hold_until_read (GstBuffer *buffer, std::shared_ptr<Tensor> tensor, cudaEvent_t read);
  /// Drops the holds whose buffers have been read; the context must be current.
  void drop_read ();
  /// Waits for the oldest hold and drops it. Where another thread is dropping the last ones, it
  /// waits for that. Returns false where there is no hold.
  Expected<bool> drop_oldest ();

  guint64 n_returned () override;
  Expected<bool> await_more (guint64 before) override;

private:
  explicit BufferHolds (Context context) : context_ (std::move (context)) {}

  struct Entry {
    BufferHold hold;
    cudaEvent_t read;
  };

  void watch ();

  const Context context_;
  std::atomic<bool> cause_copies_ = false;  // an element downstream has copied a held buffer
  std::mutex mutex_;                        // guards all below
  std::condition_variable changed_, dropped_;
  unsigned dropping_ = 0;  // taken from holds_, reference not dropped yet
  guint64 n_dropped_ = 0;
  std::deque<Entry> holds_;  // the oldest, which is read first, in front
  bool asleep_ = false, stopping_ = false;
  Thread watcher_;
};

}  // namespace integralhist
