// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tensor_pool.hpp"

#include <algorithm>

#include <gst/integralhist/base/log.hpp>

namespace integralhist {

TensorPool::TensorPool (Make make, const Options &options)
    : make_ (std::move (make)), limit_ (options.max_tensors), waits_ (options.waits_for_tensors),
      on_long_wait_ (options.on_long_wait), min_retained_ (options.async_depth + 1),
      grow_below_ (options.async_depth), retain_limit_ (min_retained_)
{
}

Expected<std::shared_ptr<TensorPool>> TensorPool::create (Make make, const Options &options)
{
  const std::shared_ptr<TensorPool> pool (new TensorPool (std::move (make), options));
  pool->idle_.push_back (TRY (pool->make_ (0)));
  pool->alive_ = 1;
  return pool;
}

Expected<> TensorPool::await_room (std::unique_lock<std::mutex> &lock)
{
  const auto has_room = [this] { return !idle_.empty () || may_grow (); };
  if (!has_room ())
    GST_LOG ("all %u tensors are held: waiting for one", alive_);
  const auto start = std::chrono::steady_clock::now ();
  bool told = !on_long_wait_;
  return CancelScope::wait (returned_, lock, [&] {
    if (!told && !has_room ()
        && std::chrono::steady_clock::now () - start >= std::chrono::seconds (1)) {
      told = true;
      lock.unlock ();
      on_long_wait_ (limit_);
      lock.lock ();
    }
    return has_room ();
  });
}

/// Makes an idle tensor, with the pool unlocked. If memory is short, another idle tensor suffices.
Expected<> TensorPool::grow (std::unique_lock<std::mutex> &lock)
{
  const unsigned alive = alive_++;
  lock.unlock ();  // because allocating may take long
  auto made = make_ (alive);
  GST_DEBUG ("tensor %u: %s", alive + 1, made ? "made" : made.error ().message.c_str ());
  lock.lock ();
  if (made) {
    idle_.push_front (std::move (*made));
    return {};
  }
  alive_--;
  if (idle_.empty () || made.error ().kind != Error::Kind::no_memory)
    return tl::make_unexpected (std::move (made).error ());
  grow_below_ = alive_;  // the most tensors that fit the memory
  return {};
}

Expected<std::shared_ptr<EngineTensor>> TensorPool::acquire ()
{
  std::unique_lock lock (mutex_);
  if (!waits_ && idle_.empty () && !may_grow ())
    return error (Error::Kind::no_memory, "all ", alive_,
                  " tensors are held: set max-tensors to a larger number, or release one");
  TRY (await_room (lock));
  TRY (CancelScope::check ());
  if (idle_.empty () || (may_grow () && alive_ < grow_below_ && !idle_.front ()->is_idle ()))
    TRY (grow (lock));
  EngineTensor *tensor = idle_.front ().release ();
  idle_.pop_front ();
  most_out_ = std::max (most_out_, alive_ - unsigned (idle_.size ()));
  if (++acquired_ % kRecent == 0) {
    retain_limit_ = std::max (min_retained_, most_out_);
    most_out_ = 0;
  }
  lock.unlock ();
  return std::shared_ptr<EngineTensor> (
      tensor, [pool = shared_from_this ()] (EngineTensor *t) { pool->give_back (t); });
}

Expected<std::shared_ptr<EngineTensor>> TensorPool::acquire (MemoryReturns &returns)
{
  for (;;) {
    // Reads the count of memory returns before acquire (): memory that comes back after acquire ()
    // has failed may be enough for a second attempt.
    const guint64 before = returns.n_returned ();
    auto tensor = acquire ();
    if (tensor || tensor.error ().kind != Error::Kind::no_memory
        || !TRY (returns.await_more (before)))
      return tensor;
  }
}

void TensorPool::give_back (EngineTensor *tensor)
{
  std::unique_ptr<EngineTensor> surplus (tensor);  // freed outside of the lock
  tensor->on_released ();
  std::unique_lock lock (mutex_);
  if (alive_ <= std::max (retain_limit_, most_out_))
    idle_.push_back (std::move (surplus));
  else
    alive_--;
  returned_.notify_one ();
  lock.unlock ();
  if (surplus)
    GST_LOG ("freeing a tensor that is not needed of late");
}

unsigned TensorPool::n_out ()
{
  const std::lock_guard lock (mutex_);
  return alive_ - unsigned (idle_.size ());
}

bool TensorPool::is_exhausted ()
{
  const std::lock_guard lock (mutex_);
  return !CancelScope::is_cancelled () && idle_.empty () && limit_ > 0 && alive_ >= limit_;
}

void TensorPool::close ()
{
  std::deque<std::unique_ptr<EngineTensor>> idle;
  const std::lock_guard lock (mutex_);
  retain_limit_ = grow_below_ = most_out_ = 0;
  alive_ -= unsigned (idle_.size ());
  idle.swap (idle_);
}

}  // namespace integralhist
