// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A tensor on demand of a frame in host memory. It tries these ways to answer, in this order:
//
//   a GPU       from the frame's feature image there, if the caller announced many queries
//   pixels      the CPU adds up the windows, while that costs less than a tensor
//   an engine   computes all of the frame, once consumers asked for all of it
//   a box       the CPU computes a tensor of the region in question, and keeps it
//   pixels      again, whatever that costs, if the box finds no memory
#pragma once

#include "kept_frame.hpp"
#include "on_demand_tensor.hpp"

namespace integralhist {

class HostOnDemandTensor final : public OnDemandTensor {
public:
  ~HostOnDemandTensor () override { context_->value_bytes -= device_bytes_; }
  /// Makes a tensor, and allocates memory for the values of a frame.
  static Expected<std::unique_ptr<EngineTensor>>
  create (const std::shared_ptr<OnDemandContext> &context);

  /// Copies a frame. The engine calls this before any other code has the tensor.
  Expected<> keep (const Frame &frame)
  {
    // Waits because a consumer on a GPU may not have waited for the copy of the last frame.
    if (std::exchange (is_device_image_current_, false))
      TRY (device_image_->await_kept ());
    return kept_.keep (frame);
  }

  Expected<> ask (std::span<const Query> queries) override;
  Expected<> ask_cells (std::span<const CellsQuery> queries) override;
  Expected<DeviceFeatureImage *> prepare (std::span<const Region> regions) override;
  Expected<const void *> host () override;
  Expected<DeviceTensor *> device_tensor () override;
  Expected<std::span<const Shard>> shards () override;
  void released () override;

private:
  HostOnDemandTensor (const std::shared_ptr<OnDemandContext> &context, HostMemory values)
      : OnDemandTensor (context, kCpuCost), kept_ (context, std::move (values))
  {
  }

  /// Computes the values of n regions if they are missing. Releases the lock during that time.
  template <class RegionOf>
  Expected<> ensure_values (std::unique_lock<std::mutex> &lock, int n, RegionOf &&region);
  Expected<bool> prepare_device_image (std::span<const Region> regions);
  /// Returns whether the GPU has the values of the current frame.
  Expected<bool> is_device_image_current ();
  /// Lets the GPU answer if it has the frame's values. After a failure, it is not asked about this
  /// frame again.
  template <class Ask>
  Expected<bool> ask_device (Ask &&ask);
  Expected<> answer_from_pixels (std::unique_lock<std::mutex> locked, const Query &query);
  Expected<> ask_one (const Query &query);
  Expected<> count_cells (std::unique_lock<std::mutex> locked, std::span<const CellsQuery> queries);
  Expected<std::shared_ptr<Tensor>> compute (const Region &region) override;
  Expected<std::shared_ptr<Tensor>> whole (std::unique_lock<std::mutex> &lock);
  /// Calls `ask` with the whole tensor of whole_engine. Returns false, so that another way may
  /// answer, if there is no engine, if a box is whole, if the engine fails, or if `ask` fails with
  /// one of these kinds.
  template <class Ask>
  Expected<bool> ask_whole (Ask &&ask, std::span<const Error::Kind> recoverable);

  KeptFrame kept_;
  std::shared_ptr<Tensor> whole_;  // computed by whole_engine; guarded by mutex_
  std::size_t device_bytes_ = 0;
  std::unique_ptr<DeviceFeatureImage> device_image_;  // null until it is needed
  bool is_device_image_current_ = false;  // it has this frame's values; guarded by mutex_
};

}  // namespace integralhist
