// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A tensor that forwards to another, for those that see or answer some of what is asked.
#pragma once

#include <memory>
#include <utility>

#include "tensor.hpp"

namespace integralhist {

class ForwardingTensor : public Tensor {
public:
  explicit ForwardingTensor (std::shared_ptr<Tensor> tensor)
      : Tensor (*tensor, tensor->flags), tensor_ (std::move (tensor))
  {
  }

  Expected<> wait (GstClockTime timeout) override { return tensor_->wait (timeout); }
  Expected<> ask (std::span<const Query> queries) override { return tensor_->ask (queries); }
  Expected<> ask_cells (std::span<const CellsQuery> queries) override
  {
    return tensor_->ask_cells (queries);
  }
  Expected<> ask_on (inthist::Stream stream, std::span<const Query> queries) override
  {
    return tensor_->ask_on (stream, queries);
  }
  Expected<const void *> host () override { return tensor_->host (); }
  CudaView cuda () override { return tensor_->cuda (); }
  Expected<std::span<const Shard>> shards () override { return tensor_->shards (); }
  Expected<> add_reader (inthist::Stream stream) override { return tensor_->add_reader (stream); }
  void add_all_readers () override { tensor_->add_all_readers (); }
  Expected<> wait_on (inthist::Stream stream) override { return tensor_->wait_on (stream); }

protected:
  const std::shared_ptr<Tensor> tensor_;
};

}  // namespace integralhist
