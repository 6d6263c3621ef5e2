// SPDX-License-Identifier: LGPL-2.1-or-later
#include "engine.hpp"

#include <algorithm>

namespace integralhist {

TensorPool::TensorPool (Make make, const Options &options)
    : make_ (std::move (make)), limit_ (options.max_tensors), still_waiting_ (options.still_waiting), least_kept_ (options.async_depth + 1),
      wanted_ (options.async_depth), kept_ (least_kept_)
{
  idle_.push_back (make_ (0));
  alive_ = 1;
}

std::shared_ptr<Tensor>
TensorPool::acquire ()
{
  std::unique_lock lock (mutex_);
  const auto go_on = [this] { return flushing_ || !idle_.empty () || limit_ == 0 || alive_ < limit_; };
  if (!returned_.wait_for (lock, std::chrono::seconds (1), go_on)) {
    lock.unlock ();
    if (still_waiting_)
      still_waiting_ (limit_);
    lock.lock ();
    returned_.wait (lock, go_on);
  }
  if (flushing_)
    return nullptr;
  const bool may_grow = limit_ == 0 || alive_ < limit_;
  if (idle_.empty () || (may_grow && alive_ < wanted_ && !idle_.front ()->at_rest ())) {
    try {
      idle_.push_front (make_ (alive_));
      alive_++;
    } catch (const Error &error) {
      if (idle_.empty () || error.code != GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY)
        throw;
      wanted_ = alive_;  // fewer will have to do
    }
  }
  Tensor *tensor = idle_.front ().release ();
  idle_.pop_front ();
  most_out_ = std::max (most_out_, alive_ - unsigned (idle_.size ()));
  if (++acquired_ % kMemory == 0) {
    kept_ = std::max (least_kept_, most_out_);
    most_out_ = 0;
  }
  lock.unlock ();
  return std::shared_ptr<Tensor> (tensor, [pool = shared_from_this ()] (Tensor *t) { pool->give_back (t); });
}

void
TensorPool::give_back (Tensor *tensor)
{
  std::unique_ptr<Tensor> surplus (tensor);  // freed outside of the lock
  tensor->released ();
  const std::lock_guard lock (mutex_);
  if (alive_ <= std::max (kept_, most_out_))
    idle_.push_back (std::move (surplus));
  else
    alive_--;
  returned_.notify_one ();
}

bool
TensorPool::is_exhausted ()
{
  const std::lock_guard lock (mutex_);
  return !flushing_ && idle_.empty () && limit_ > 0 && alive_ >= limit_;
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
  std::deque<std::unique_ptr<Tensor>> idle;
  const std::lock_guard lock (mutex_);
  kept_ = wanted_ = most_out_ = 0;
  alive_ -= unsigned (idle_.size ());
  idle.swap (idle_);
}

inthist::Lut
lut_of_part (const inthist::Lut &lut, const inthist::Shape &shape, const Part &part)
{
  return part.bins == shape.bins ? lut : inthist::lut_of_bins (lut, part.first_bin, part.bins);
}

std::string
describe (const inthist::Shape &shape)
{
  const std::string size = " of " + std::to_string (shape.width) + "x" + std::to_string (shape.height) + " pixels";
  if (shape.content == inthist::Content::bins)
    return "the integral histogram" + size + " with " + std::to_string (shape.bins) + " bins (" + inthist::name_of (shape.counter) + ")";
  return (shape.bins > 1 ? "the tables of values and squares" : "the summed-area table") + size;
}

/// As g_format_size, but with a space that can be searched for.
static std::string
size_text (double size)
{
  constexpr const char *kUnits[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < std::size (kUnits); unit++)
    size /= 1024;
  g_autofree char *printed = g_strdup_printf (unit > 0 ? "%.2f %s" : "%.0f %s", size, kUnits[unit]);
  return printed;
}

std::string
no_memory (const std::string &what, std::size_t bytes, std::size_t available, const char *where)
{
  return what + " takes " + size_text (double (bytes)) + ", and " + size_text (double (available)) + " of " + where + " memory are free";
}

std::string
no_memory_within (const std::string &what, std::size_t bytes, const char *limit, std::size_t value)
{
  return what + " takes " + size_text (double (bytes)) + ", and " + limit + " is " + size_text (double (value));
}

std::string
no_memory_for_tensor (const inthist::Shape &shape, std::size_t bytes, std::size_t available, const char *where, unsigned alive)
{
  std::string message = no_memory (describe (shape), bytes, available, where);
  if (alive > 0)
    message += ", with " + std::to_string (alive) + " held already: set max-tensors to wait for them,";
  else
    message += ":";
  if (shape.content == inthist::Content::bins)
    message += shape.counter == inthist::Type::u32 ? " lower bins, set counter=u16," : " lower bins,";
  else if (shape.bins > 1)
    message += " set squared=false,";
  return message + " or scale the video down";
}

}  // namespace integralhist
