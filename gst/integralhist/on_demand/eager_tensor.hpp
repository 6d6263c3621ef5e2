// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "on_demand_shared.hpp"
#include "query_optimizer.hpp"

namespace integralhist {

/// Forwards queries to a tensor that was computed at once, and notes what the queries would have
/// cost on demand, so that the engine can return to computing on demand if that is cheaper.
class EagerTensor final : public Tensor {
public:
  EagerTensor (std::shared_ptr<OnDemandShared> shared, std::shared_ptr<Tensor> tensor,
               const AnswerCost &cost)
      : Tensor (*tensor, tensor->flags), tensor_ (std::move (tensor)), shared_ (std::move (shared)),
        optimizer_ (shape, cost)
  {
  }
  ~EagerTensor () override { shared_->note_released (optimizer_.whole_is_better ()); }

  Expected<> wait (GstClockTime timeout) override { return tensor_->wait (timeout); }
  Expected<> ask (std::span<const Query> queries) override
  {
    note (queries);
    return tensor_->ask (queries);
  }
  Expected<> ask_cells (std::span<const CellsQuery> queries) override
  {
    const bool would_count = [&] {
      const std::lock_guard lock (mutex_);
      return optimizer_.choose_counting (queries);
    }();
    // Tensor::ask_cells () turns cells into regions and passes these to ask (), which notes costs.
    return would_count ? tensor_->ask_cells (queries) : Tensor::ask_cells (queries);
  }
  Expected<> ask_on (Stream stream, std::span<const Query> queries) override
  {
    note (queries);
    return tensor_->ask_on (stream, queries);
  }
  Expected<const void *> host () override
  {
    note_all ();
    return tensor_->host ();
  }
  Expected<DeviceTensor *> device_tensor () override
  {
    note_all ();
    return tensor_->device_tensor ();
  }
  Expected<std::span<const Shard>> shards () override { return tensor_->shards (); }

private:
  void note (std::span<const Query> queries)
  {
    const std::lock_guard lock (mutex_);
    for (const Query &query : queries)
      if (const auto region = optimizer_.choose_tensor (query))
        optimizer_.note_computed (*region);
  }
  void note_all ()
  {
    const std::lock_guard lock (mutex_);
    optimizer_.note_computed (optimizer_.frame ());
  }

  const std::shared_ptr<Tensor> tensor_;
  const std::shared_ptr<OnDemandShared> shared_;
  std::mutex mutex_;
  QueryOptimizer optimizer_;
};

}  // namespace integralhist
