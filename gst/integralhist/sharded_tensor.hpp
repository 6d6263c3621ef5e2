// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A frame's tensor that several devices make: shards where they were computed, or one in host
// memory to which the parts land. Not installed.
#pragma once

#include <optional>

#include "shards.hpp"
#include "sharing.hpp"

namespace integralhist {

class ShardedTensor final : public Tensor {
public:
  /// The memory of one that is put together on the host is there from the start.
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

  // for the engine

  /// For a new frame, of which nothing is there yet.
  void begin ();
  /// Where parts go; null where they stay.
  std::byte *landing () const { return landed_ ? host_.get () : nullptr; }
  /// The task's shard stays where it is; what has landed needs it no more.
  void finish (int group, const Part &part, std::shared_ptr<Tensor> shard);
  /// `failure` is what to tell who waits; `told` is whether the application knows.
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
  /// The only shard, for what one stream orders.
  Expected<Tensor *> only_shard ();

  const Sharing sharing_;
  const Download download_;
  const AllocateHost allocate_;
  std::vector<Shard>
      shards_;        // in the order of bins; none where the tensor is in host memory alone
  std::mutex mutex_;  // guards what follows, and the shards until all tasks are done
  std::condition_variable changed_;
  int tasks_left_ = 0;
  bool done_ = false;
  std::optional<Error> failure_;
  std::mutex host_mutex_;  // guards the host copy
  HostMemory host_;
  bool landed_ = false;
};

}  // namespace integralhist
