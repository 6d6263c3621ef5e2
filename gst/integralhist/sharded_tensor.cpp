// SPDX-License-Identifier: LGPL-2.1-or-later
#include "sharded_tensor.hpp"

namespace integralhist {

ShardedTensor::ShardedTensor (const inthist::Shape &of, const Sharing &sharing, Download download, AllocateHost allocate, unsigned alive)
    : Tensor (of), sharing_ (sharing), download_ (download), allocate_ (std::move (allocate))
{
  if (lands ())
    reserve_host (alive);
}

bool
ShardedTensor::wait (GstClockTime timeout)
{
  std::unique_lock lock (mutex_);
  const auto done = [this] { return done_ || failure_; };
  if (timeout == GST_CLOCK_TIME_NONE)
    changed_.wait (lock, done);
  else if (!changed_.wait_for (lock, std::chrono::nanoseconds (std::min<GstClockTime> (timeout, G_MAXINT64 / 4)), done))
    return false;
  if (failure_)
    throw *failure_;
  return true;
}

void
ShardedTensor::ask (std::span<const Query> queries)
{
  wait (GST_CLOCK_TIME_NONE);
  if (shards_.empty ())
    answer_on_host (*this, host_.get (), queries);
  else
    ask_shards (shape, shards_, queries);
}

void
ShardedTensor::ask_on (void *stream, std::span<const Query> queries)
{
  wait (GST_CLOCK_TIME_NONE);
  if (shards_.size () == 1)
    return shards_.front ().tensor->ask_on (stream, queries);
  if (shards_.empty ())
    return Tensor::ask_on (stream, queries);
  throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_FAILED, "the tensor is in " + std::to_string (shards_.size ())
                                                        + " shards, which no one stream orders: ask without a stream, or ask each shard");
}

const void *
ShardedTensor::host ()
{
  if (download_ == Download::never)
    throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_NOT_DOWNLOADED,
                 "the tensor stays on the GPUs, as download=never says; ask regions, or set download to lazy or eager");
  wait (GST_CLOCK_TIME_NONE);
  const std::lock_guard lock (host_mutex_);
  if (!landed_) {
    reserve_host (0);
    download ();
    landed_ = true;
  }
  return host_.get ();
}

CudaView
ShardedTensor::cuda ()
{
  try {
    wait (GST_CLOCK_TIME_NONE);
  } catch (const Error &) {
    return {};  // who waits is told
  }
  return shards_.size () == 1 ? shards_.front ().tensor->cuda () : CudaView{};
}

std::span<const Shard>
ShardedTensor::shards ()
{
  wait (GST_CLOCK_TIME_NONE);
  return shards_;
}

void
ShardedTensor::released ()
{
  shards_.clear ();
}

void
ShardedTensor::begin ()
{
  tasks_left_ = sharing_.groups;
  shards_.assign (sharing_.resident ? sharing_.groups : 0, {});
  done_ = false;
  failure_.reset ();
  failure_told = false;
  landed_ = lands ();
}

void
ShardedTensor::finish (int group, const Part &part, std::shared_ptr<Tensor> shard)
{
  {
    const std::lock_guard lock (mutex_);
    if (sharing_.resident)
      shards_[group] = { part.first_bin, std::move (shard) };
    if (--tasks_left_ > 0)
      return;
  }
  if (sharing_.strips > 1 && shape.counter == inthist::Type::u16_anchored)  // strips have none
    inthist::cpu::drop_anchors ({ shape, layout, {}, host_.get () });
  const std::lock_guard lock (mutex_);
  done_ = true;
  changed_.notify_all ();
}

void
ShardedTensor::fail (const Error &failure, bool told)
{
  failure_told = told;
  const std::lock_guard lock (mutex_);
  failure_ = failure;
  changed_.notify_all ();
}

/// From all devices at once.
void
ShardedTensor::download ()
{
  std::vector<std::function<void ()>> under_way;
  std::exception_ptr failure;
  try {
    for (const Shard &shard : shards_)
      under_way.push_back (
          shard.tensor->start_landing ({ host_.get (), shape, { shard.first_bin, shard.tensor->shape.bins, 0, shape.height } }));
  } catch (...) {
    failure = std::current_exception ();
  }
  for (const auto &await : under_way)  // whatever becomes of the others
    try {
      await ();
    } catch (...) {
      failure = std::current_exception ();
    }
  if (failure)
    std::rethrow_exception (failure);
}

void
ShardedTensor::reserve_host (unsigned alive)
{
  if (!host_)
    host_ = allocate_ (bytes (),
                       [this, alive] (std::size_t available) { return no_memory_for_tensor (shape, bytes (), available, "host", alive); });
}

}  // namespace integralhist
