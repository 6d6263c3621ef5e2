// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Input buffers that a device still reads while they travel on. A reference keeps them out of their
// pool, and keeps writers away: a buffer that is shared is not writable. It is dropped when an
// event has fired: at the next frame or, where none comes, by a thread that looks every
// millisecond, for the next frame may need that very buffer.
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
  /// Once all events have fired.
  ~Loans ();

  /// Takes a reference until `read` fires. Before that is recorded again it must have fired, and
  /// give_back () have been called. The buffer has a meta with the tensor.
  void add (GstBuffer *buffer, Tensor &tensor, cudaEvent_t read);
  /// Gives back what has been read, with the context current.
  void give_back ();
  /// Waits for the oldest, and gives it back, or where another thread is giving back the last ones,
  /// for that. False where there is none.
  Expected<bool> settle_oldest ();
  /// How many have been given back so far, and their memory with them.
  guint64 given_back ();
  /// Whether somebody downstream has copied a buffer, because it was not writable. Writers then
  /// copy the memory too, and where they do not, the buffer's pool cannot use it again and
  /// allocates anew for each frame.
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
  unsigned returning_ = 0;  // that are no loans any more, but still referenced
  guint64 given_back_ = 0;
  std::deque<Loan> loans_;  // the oldest in front: it is read first
  bool asleep_ = false, stopping_ = false;
  Thread watcher_;
};

}  // namespace integralhist
