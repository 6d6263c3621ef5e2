// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <memory>
#include <span>
#include <utility>

#include <gst/integralhist/engine/tensor.hpp>

namespace integralhist {

/// A tensor that forwards calls to another tensor, except for queries: ask (), ask_cells () and
/// prepare () are those of the subclass.
class TensorProxy : public Tensor {
public:
  explicit TensorProxy (std::shared_ptr<Tensor> tensor)
      : Tensor (*tensor, tensor->flags), tensor_ (std::move (tensor))
  {
  }

  Expected<> wait (GstClockTime timeout) override { return tensor_->wait (timeout); }
  Expected<> ask_on (inthist::Stream stream, std::span<const Query> queries) override
  {
    return tensor_->ask_on (stream, queries);
  }
  Expected<const void *> host () override { return tensor_->host (); }
  Expected<DeviceTensor *> device_tensor () override { return tensor_->device_tensor (); }
  Expected<std::span<const Shard>> shards () override { return tensor_->shards (); }

protected:
  const std::shared_ptr<Tensor> tensor_;
};

}  // namespace integralhist
