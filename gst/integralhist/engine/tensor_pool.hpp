// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>

#include <gst/integralhist/memory/memory_returns.hpp>

#include "engine_tensor.hpp"
#include "options.hpp"

namespace integralhist {

/// A pool of tensors of one shape. While tensors are in use, it may outlive its engine.
class TensorPool : public std::enable_shared_from_this<TensorPool> {
public:
  using Make = std::function<Expected<std::unique_ptr<EngineTensor>> (unsigned alive)>;

  /// Makes a pool with one tensor, so that a shape that does not fit fails now. At most
  /// options.max_tensors exist. If all are in use, acquire () makes another. Up to
  /// options.async_depth, it also makes one if the device still works on the returned ones, so that
  /// frames in flight do not wait for each other's memory. The pool keeps as many for reuse as were
  /// recently in use at once.
  static Expected<std::shared_ptr<TensorPool>> create (Make make, const Options &options);

  /// Returns a tensor, which its last user returns to the pool. If max_tensors are in use, waits,
  /// unless this thread is cancelled; without options.waits_for_tensors, returns an
  /// Error::Kind::no_memory.
  Expected<std::shared_ptr<EngineTensor>> acquire ();
  /// Like acquire (), but if memory is short, waits for `returns` and tries again.
  Expected<std::shared_ptr<EngineTensor>> acquire (MemoryReturns &returns);
  /// Returns how many tensors are in use.
  unsigned n_out ();
  /// Returns whether acquire () would wait. Returns false if this thread is cancelled.
  bool is_exhausted ();
  /// Ends reuse: tensors that come back later are freed at once.
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
  const std::function<void (unsigned)> still_waiting_;
  std::mutex mutex_;  // guards all below
  std::condition_variable returned_;
  std::deque<std::unique_ptr<EngineTensor>> idle_;  // the longest idle in front
  unsigned alive_ = 0;
  const unsigned min_retained_;
  unsigned grow_below_;    // if fewer exist, acquire () makes one and does not wait for the device
  unsigned retain_limit_;  // if more exist, a returned one is freed
  unsigned acquired_ = 0, most_out_ = 0;  // most_out_: in the last kRecent calls of acquire ()
};

}  // namespace integralhist
