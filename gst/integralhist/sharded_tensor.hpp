// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A frame's tensor from several devices: shards that stay there, or one tensor in host memory.
#pragma once

#include <optional>

#include "shards.hpp"
#include "sharing.hpp"

namespace integralhist {

class ShardedTensor final : public Tensor {
public:
  /// Makes a tensor; one in host memory gets its memory here.
  static Expected<std::unique_ptr<Tensor>> create (const inthist::Shape &shape,
                                                   const Sharing &sharing, Download download,
                                                   AllocateHost allocate, unsigned alive,
                                                   const Cancelled &cancelled);

  Expected<> wait (GstClockTime timeout) override;
  Expected<> ask (std::span<const Query> queries) override;
  Expected<> ask_on (void *stream, std::span<const Query> queries) override;
  Expected<> add_reader (void *stream) override;
  Expected<const void *> host () override;
  CudaView cuda () override;
  Expected<std::span<const Shard>> shards () override;
  void released () override;

  // The engine calls these.

  /// Starts a new frame, none of whose parts is computed.
  void begin ();
  /// Returns the parts' host destination; null where they stay on the devices.
  std::byte *landing () const { return landed_ ? host_.get () : nullptr; }
  /// Ends a task. `shard` is kept where shards stay, and dropped where it is in host memory.
  void finish (int group, const Part &part, std::shared_ptr<Tensor> shard);
  /// Ends all waits with `failure`; `told` is whether the application knows of it.
  void fail (const Error &failure, bool told);

private:
  ShardedTensor (const inthist::Shape &of, const Sharing &sharing, Download download,
                 AllocateHost allocate)
      : Tensor (of), sharing_ (sharing), download_ (download), allocate_ (std::move (allocate))
  {
  }

  bool lands () const { return !sharing_.resident || download_ == Download::eager; }
  Expected<> download ();
  Expected<> reserve_host (unsigned alive, const Cancelled &cancelled);
  /// Returns the only shard, or null in host memory; several shards have no common stream.
  Expected<Tensor *> only_shard ();

  const Sharing sharing_;
  const Download download_;
  const AllocateHost allocate_;
  // in the order of bins; empty where the tensor is in host memory
  std::vector<Shard> shards_;
  std::mutex mutex_;  // guards what follows, and shards_ until all tasks are done
  std::condition_variable changed_;
  int tasks_left_ = 0;
  bool done_ = false;
  std::optional<Error> failure_;
  std::mutex host_mutex_;  // guards host_ and landed_
  HostMemory host_;
  bool landed_ = false;
};

}  // namespace integralhist
