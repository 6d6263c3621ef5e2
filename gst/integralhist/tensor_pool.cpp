// SPDX-License-Identifier: LGPL-2.1-or-later
#include "engine.hpp"

#include <algorithm>

namespace integralhist {

TensorPool::TensorPool (Make make, unsigned limit, unsigned keep) : make_ (std::move (make)), limit_ (limit), keep_ (keep)
{
  idle_.push_back (make_ (0));
  alive_ = 1;
}

std::shared_ptr<Tensor>
TensorPool::acquire ()
{
  std::unique_lock lock (mutex_);
  returned_.wait (lock, [this] { return flushing_ || !idle_.empty () || limit_ == 0 || alive_ < limit_; });
  if (flushing_)
    return nullptr;
  if (idle_.empty ()) {
    idle_.push_back (make_ (alive_));
    alive_++;
  }
  // the last one returned: its memory is the likeliest to be in a cache
  Tensor *tensor = idle_.back ().release ();
  idle_.pop_back ();
  lock.unlock ();
  return std::shared_ptr<Tensor> (tensor, [pool = shared_from_this ()] (Tensor *t) { pool->give_back (t); });
}

void
TensorPool::give_back (Tensor *tensor)
{
  std::unique_ptr<Tensor> surplus (tensor);  // freed outside of the lock
  const std::lock_guard lock (mutex_);
  if (idle_.size () < keep_)
    idle_.push_back (std::move (surplus));
  else
    alive_--;
  returned_.notify_one ();
}

void
TensorPool::set_flushing (bool flushing)
{
  const std::lock_guard lock (mutex_);
  flushing_ = flushing;
  returned_.notify_all ();
}

void
TensorPool::close ()
{
  std::vector<std::unique_ptr<Tensor>> idle;
  const std::lock_guard lock (mutex_);
  keep_ = 0;
  alive_ -= unsigned (idle_.size ());
  idle.swap (idle_);
}

std::string
too_large (const inthist::Shape &shape, std::size_t bytes, std::size_t available, const char *where, unsigned alive)
{
  constexpr double kGiB = 1024.0 * 1024 * 1024;
  g_autofree char *text = g_strdup_printf (
      "the integral histogram of %dx%d pixels with %d bins (%s) takes %.2f GiB, and %.2f GiB of %s memory are free", shape.width,
      shape.height, shape.bins, shape.counter == inthist::Counter::u32 ? "u32" : "u16", bytes / kGiB, available / kGiB, where);
  std::string message = text;
  if (alive > 0)
    message += "; " + std::to_string (alive) + " are held already: set max-tensors to wait for them, or";
  else
    message += ":";
  message += " lower bins";
  if (shape.counter == inthist::Counter::u32)
    message += ", set counter=u16";
  return message + ", or scale the video down";
}

}  // namespace integralhist
