// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A tensor of a frame that several devices compute: in shards (groups of bins) that stay on the
// devices, or as a whole in host memory.
#pragma once

#include <gst/integralhist/engine/engine_tensor.hpp>
#include <gst/integralhist/host/host_fence.hpp>

#include "partition.hpp"
#include "shards.hpp"

namespace integralhist {

class ShardedTensor final : public EngineTensor {
public:
  /// Makes a tensor, which has host memory if the devices' parts of it are copied there.
  static Expected<std::unique_ptr<EngineTensor>> create (const Shape &shape,
                                                         const Partition &partition,
                                                         Download download, AllocateHost allocate,
                                                         unsigned alive);

  Expected<> wait (GstClockTime timeout) override { return computed_.wait (timeout); }
  Expected<> ask (std::span<const Query> queries) override;
  Expected<const void *> host () override;
  /// Returns the DeviceTensor of a single shard. Several shards are an error: they share no stream.
  Expected<DeviceTensor *> device_tensor () override;
  Expected<std::span<const Shard>> shards () override;
  void on_released () override { shards_.clear (); }

  void begin ();
  /// Returns the tensor in host memory that devices copy their parts to; null if parts stay there.
  std::byte *host_destination () const { return is_on_host_ ? host_.get () : nullptr; }
  /// Notes that a group of bins is computed, and keeps `shard` if shards stay on the devices.
  void finish (int group, const Part &part, std::shared_ptr<EngineTensor> shard);
  /// Ends all waits for the tensor with an error. `reported`: the application knows of the failure.
  void fail (const Error &failure, bool reported);

private:
  ShardedTensor (const Shape &of, const Partition &partition, Download download,
                 AllocateHost allocate)
      : EngineTensor (of), partition_ (partition), download_ (download),
        allocate_ (std::move (allocate))
  {
  }

  /// Returns whether each part is copied to host memory as soon as it is computed.
  bool goes_to_host () const { return !partition_.resident || download_ == Download::eager; }
  Expected<> download ();
  Expected<> reserve_host (unsigned alive);

  const Partition partition_;
  const Download download_;
  const AllocateHost allocate_;
  // The shards in the order of bins; empty if the tensor is in host memory.
  std::vector<Shard> shards_;
  HostFence computed_;
  std::mutex mutex_;  // guards tasks_left_, and shards_ until all tasks are done
  int tasks_left_ = 0;
  std::mutex host_mutex_;  // guards all below
  HostMemory host_;
  bool is_on_host_ = false;  // once it is computed
};

}  // namespace integralhist
