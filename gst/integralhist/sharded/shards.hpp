// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A tensor in shards, which are tensors of consecutive bins of a frame, maybe on several devices.
// Queries get the same answers as from one tensor.
#pragma once

#include <gst/integralhist/engine/tensor.hpp>

namespace integralhist {

struct Shard {
  int first_bin;
  std::shared_ptr<Tensor> tensor;
};

/// Answers queries exactly as one tensor with all bins would. The shards have all bins, in order.
/// Each shard gets all queries at once, one shard after another. If bins have weights, shards first
/// return the totals of weights that the queries divide by.
Expected<> ask_shards (const Shape &whole, std::span<const Shard> shards,
                       std::span<const Query> queries);

}  // namespace integralhist
