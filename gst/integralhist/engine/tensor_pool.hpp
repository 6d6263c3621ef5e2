// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>

#include <gst/integralhist/memory/memory_returns.hpp>

#include "engine_tensor.hpp"
#include "options.hpp"

namespace integralhist {

/// A pool of tensors of one shape, which may outlive its engine while consumers hold tensors.
class TensorPool : public std::enable_shared_from_this<TensorPool> {
public:
  using Make = std::function<Expected<std::unique_ptr<EngineTensor>> (unsigned alive)>;

  /// Makes a pool with one tensor, so that lack of memory shows at once. It has at most
  /// options.max_tensors, and grows when all are in use. Up to options.async_depth it also grows
  /// when the device still works on the idle ones, so that frames in flight need not wait.
  static Expected<std::shared_ptr<TensorPool>> create (Make make, const Options &options);

  /// Returns a tensor, which comes back to the pool when its last owner drops it. If
  /// options.max_tensors are in use, waits for one unless this thread is cancelled; without
  /// options.waits_for_tensors, returns an Error::Kind::no_memory instead.
  Expected<std::shared_ptr<EngineTensor>> acquire ();
  /// Returns a tensor. If memory is short, waits until frames in flight return some (`returns`).
  Expected<std::shared_ptr<EngineTensor>> acquire (MemoryReturns &returns);
  unsigned n_out ();
  /// Returns whether acquire () would wait; false if this thread is cancelled.
  bool is_exhausted ();
  /// Frees the idle tensors. Tensors that come back to the pool later are freed at once.
  void close ();

private:
  static constexpr unsigned kRecent = 256;

  TensorPool (Make make, const Options &options);

  bool may_grow () const { return limit_ == 0 || alive_ < limit_; }
  Expected<> await_room (std::unique_lock<std::mutex> &lock);
  Expected<> grow (std::unique_lock<std::mutex> &lock);
  void give_back (EngineTensor *tensor);

  const Make make_;
  const unsigned limit_;  // 0 for no limit
  const bool waits_;      // at the limit
  const std::function<void (unsigned)> on_long_wait_;
  std::mutex mutex_;  // guards all below
  std::condition_variable returned_;
  std::deque<std::unique_ptr<EngineTensor>> idle_;  // the longest idle in front
  unsigned alive_ = 0;
  const unsigned min_retained_;
  unsigned grow_below_;    // with fewer tensors, acquire () makes one and does not await the device
  unsigned retain_limit_;  // with more tensors, one that comes back to the pool is freed
  unsigned acquired_ = 0, most_out_ = 0;  // most_out_: most tensors in use of late
};

}  // namespace integralhist
