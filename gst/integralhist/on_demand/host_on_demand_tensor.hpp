// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tensor of a frame in host memory, computed on demand. It tries these ways to answer a query:
//
//   1. a GPU       from its DeviceFeatureImage, if prepare () has announced many queries
//   2. pixels      cpu::answer_pixels (), while that costs less than a tensor (QueryOptimizer)
//   3. an engine   WholeTensors::compute (), once consumers have asked for all of the frame
//   4. a region    compute (): the CPU computes the tensor of a region with the windows, to keep
//   5. pixels      again, whatever that costs, if there is no memory for that tensor
#pragma once

#include "host_frame.hpp"
#include "on_demand_tensor.hpp"

namespace integralhist {

class CpuTensor;

class HostOnDemandTensor final : public OnDemandTensor {
public:
  ~HostOnDemandTensor () override { shared_->value_bytes -= device_bytes_; }
  static Expected<std::unique_ptr<EngineTensor>>
  create (const std::shared_ptr<OnDemandShared> &shared);

  /// Copies a frame into this tensor. The engine calls this before any other code has the tensor.
  Expected<> keep (const Frame &frame)
  {
    // Waits because the GPU may still be reading the last frame, which is overwritten below.
    if (std::exchange (is_device_image_current_, false))
      TRY (device_image_->await_upload ());
    return frame_.keep (frame);
  }

  Expected<> ask (std::span<const Query> queries) override;
  Expected<> ask_cells (std::span<const CellsQuery> queries) override;
  Expected<DeviceFeatureImage *> prepare (std::span<const Region> regions) override;
  Expected<const void *> host () override;
  Expected<DeviceTensor *> device_tensor () override;
  Expected<std::span<const Shard>> shards () override;
  void on_released () override;

private:
  HostOnDemandTensor (const std::shared_ptr<OnDemandShared> &shared, HostMemory values)
      : OnDemandTensor (shared, kCpuCost), frame_ (shared, std::move (values))
  {
  }

  bool upload_pays (std::span<const Region> regions) const;
  Expected<bool> prepare_device_image (std::span<const Region> regions);
  /// Passes the frame's feature image on the GPU, if there is one, to `ask`. Returns whether the
  /// GPU has answered. After a failure the GPU is not asked about this frame again.
  template <class Ask>
  Expected<bool> ask_device (Ask &&ask);
  Expected<> answer_from_pixels (CancellableMutex::Lock lock, const Query &query);
  Expected<> ask_one (const Query &query);
  Expected<> count_cells (CancellableMutex::Lock lock, std::span<const CellsQuery> queries);
  Expected<std::shared_ptr<Tensor>> compute (const Region &region) override;
  Expected<HostMemory> take_memory (const Shape &of_region, std::size_t bytes) const;
  Expected<> run_strategy (const Region &region, CpuTensor &tensor);
  Expected<std::shared_ptr<Tensor>> whole ();
  /// Passes the whole tensor, which whole_tensors computes, to `ask`. Returns false, so that
  /// another way may answer, if there is no whole_tensors, if the region of region_tensor_ is the
  /// whole frame, if the engine fails, or if `ask` fails with a kind of error in `recoverable`.
  template <class Ask>
  Expected<bool> ask_whole (Ask &&ask, std::span<const Error::Kind> recoverable);

  HostFrame frame_;                // compute_values () is called with mutex_ held
  std::shared_ptr<Tensor> whole_;  // by whole_tensors; guarded by mutex_
  std::size_t device_bytes_ = 0;
  std::unique_ptr<DeviceFeatureImage> device_image_;  // null until it is needed
  bool is_device_image_current_ = false;  // whether the GPU has this frame; guarded by mutex_
};

}  // namespace integralhist
