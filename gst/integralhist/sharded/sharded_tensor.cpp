// SPDX-License-Identifier: LGPL-2.1-or-later
#include "sharded_tensor.hpp"

#include <gst/integralhist/host/cpu_tensor.hpp>
#include <gst/integralhist/memory/memory_messages.hpp>

namespace integralhist {

Expected<std::unique_ptr<EngineTensor>>
ShardedTensor::create (const Shape &shape, const Partition &partition, Download download,
                       AllocateHost allocate, unsigned alive)
{
  std::unique_ptr<ShardedTensor> tensor (
      new ShardedTensor (shape, partition, download, std::move (allocate)));
  if (tensor->goes_to_host ())
    TRY (tensor->reserve_host (alive));
  return tensor;
}

Expected<> ShardedTensor::ask (std::span<const Query> queries)
{
  TRY (wait (GST_CLOCK_TIME_NONE));
  return shards_.empty () ? answer_on_host ({ shape, layout, host_.get () }, queries)
                          : ask_shards (shape, shards_, queries);
}

Expected<DeviceTensor *> ShardedTensor::device_tensor ()
{
  TRY (wait (GST_CLOCK_TIME_NONE));
  if (shards_.size () > 1)
    return error (Error::Kind::failed, "the tensor is in ", shards_.size (),
                  " shards, which no one stream orders: ask without a stream, or ask each shard");
  return shards_.empty () ? nullptr : shards_.front ().tensor->device_tensor ();
}

Expected<const void *> ShardedTensor::host ()
{
  if (download_ == Download::never)
    return error (Error::Kind::not_downloaded,
                  "the tensor stays on the GPUs, as download=never says: ask for regions, or set "
                  "download to lazy or eager");
  TRY (wait (GST_CLOCK_TIME_NONE));
  const std::lock_guard lock (host_mutex_);
  if (!is_on_host_) {
    TRY (reserve_host (0));
    TRY (download ());
    is_on_host_ = true;
  }
  return host_.get ();
}

Expected<std::span<const Shard>> ShardedTensor::shards ()
{
  TRY (wait (GST_CLOCK_TIME_NONE));
  return std::span<const Shard> (shards_);
}

void ShardedTensor::begin ()
{
  tasks_left_ = partition_.groups;
  shards_.assign (partition_.resident ? partition_.groups : 0, {});
  computed_.reset ();
  flags->failure_reported = false;
  is_on_host_ = goes_to_host ();
}

void ShardedTensor::finish (int group, const Part &part, std::shared_ptr<EngineTensor> shard)
{
  {
    const std::lock_guard lock (mutex_);
    if (partition_.resident)
      shards_[group] = { part.first_bin, std::move (shard) };
    if (--tasks_left_ > 0)
      return;
  }
  computed_.signal ({});
}

void ShardedTensor::fail (const Error &failure, bool reported)
{
  flags->failure_reported = reported;
  computed_.signal (tl::make_unexpected (failure));
}

/// Downloads the shards of all devices to host memory, all at the same time.
Expected<> ShardedTensor::download ()
{
  std::vector<std::function<Expected<> ()>> running;
  Expected<> outcome;
  for (const Shard &shard : shards_) {
    // The cast to EngineTensor is valid, because every shard belongs to an engine.
    auto started =
        static_cast<EngineTensor &> (*shard.tensor)
            .start_copy ({ host_.get (),
                           shape,
                           { shard.first_bin, shard.tensor->shape.bins, 0, shape.height } });
    if (started)
      running.push_back (std::move (*started));
    else
      outcome = tl::make_unexpected (started.error ());
  }
  for (const auto &await : running)  // even if others failed
    if (auto copied = await (); !copied)
      outcome = std::move (copied);
  return outcome;
}

Expected<> ShardedTensor::reserve_host (unsigned alive)
{
  if (!host_)
    host_ = TRY (allocate_ (bytes (), [this, alive] (const Available &available) {
      return no_memory_for_tensor (shape, available, alive);
    }));
  return {};
}

}  // namespace integralhist
