// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Holds on input buffers that the device reads after they have left the element. A hold is a
// reference: it keeps the buffer out of its pool and makes it unwritable. The next frame drops it
// once its event has fired, or a thread does within 1 ms: that frame may need the buffer.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "cuda_tensor.hpp"

namespace integralhist {

class Loans {
public:
  static Expected<std::unique_ptr<Loans>> create (Context context);
  /// Drops all holds; their events must have fired.
  ~Loans ();

  /// Holds a buffer until `read` fires; the buffer has a meta with the tensor. `read` may be
  /// recorded again only after it has fired and give_back () was called.
  void add (GstBuffer *buffer, Tensor &tensor, cudaEvent_t read);
  /// Drops the holds whose buffers have been read; the context must be current.
  void give_back ();
  /// Waits for the oldest hold and drops it. Where another thread is dropping the last ones, it
  /// waits for that. Returns false where there is no hold.
  Expected<bool> settle_oldest ();
  /// Returns how many holds have been dropped so far, with the buffers' memory.
  guint64 given_back ();
  /// Returns whether an element downstream has copied a held buffer because it was not writable. If
  /// it copies no memory, the buffer's pool must allocate another buffer for each frame.
  bool are_in_the_way () const { return in_the_way_; }

private:
  explicit Loans (Context context) : context_ (std::move (context)) {}

  struct Loan {
    GstBuffer *buffer;
    Tensor *tensor;
    cudaEvent_t read;
  };

  void watch ();

  const Context context_;
  std::atomic<bool> in_the_way_ = false;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_, returned_;
  unsigned returning_ = 0;  // taken from loans_, reference not dropped yet
  guint64 given_back_ = 0;
  std::deque<Loan> loans_;  // the oldest, which is read first, in front
  bool asleep_ = false, stopping_ = false;
  Thread watcher_;
};

}  // namespace integralhist
