// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A frame's tensor from several devices: shards that stay there, or one tensor in host memory.
#pragma once

#include <gst/integralhist/engine/engine_tensor.hpp>
#include <gst/integralhist/host/host_fence.hpp>

#include "partition.hpp"
#include "shards.hpp"

namespace integralhist {

class ShardedTensor final : public EngineTensor {
public:
  /// Makes a tensor. If its parts go to host memory, allocates this memory.
  static Expected<std::unique_ptr<EngineTensor>> create (const inthist::Shape &shape,
                                                         const Partition &partition,
                                                         Download download, AllocateHost allocate,
                                                         unsigned alive);

  Expected<> wait (GstClockTime timeout) override { return computed_.wait (timeout); }
  Expected<> ask (std::span<const Query> queries) override;
  Expected<const void *> host () override;
  /// Returns the device tensor of the only shard. Several shards have no common stream: an error.
  Expected<DeviceTensor *> device_tensor () override;
  Expected<std::span<const Shard>> shards () override;
  void released () override { shards_.clear (); }

  // The engine calls these.

  /// Starts a new frame, of which no part is computed yet.
  void begin ();
  /// Returns the tensor in host memory to which parts are copied. Returns null if parts stay on the
  /// devices.
  std::byte *host_destination () const { return is_on_host_ ? host_.get () : nullptr; }
  /// Notes that a task is done. If shards stay on the devices, keeps `shard`; otherwise drops it.
  void finish (int group, const Part &part, std::shared_ptr<EngineTensor> shard);
  /// Ends all waits for the tensor with `failure`. `reported` says whether the application was told
  /// about it.
  void fail (const Error &failure, bool reported);

private:
  ShardedTensor (const inthist::Shape &of, const Partition &partition, Download download,
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
