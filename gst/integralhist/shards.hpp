// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A frame's tensor in shards: groups of consecutive bins, each a tensor of its own, maybe on a
// device of its own. Whoever asks sees one tensor.
#pragma once

#include "engine.hpp"

namespace integralhist {

struct Shard {
  int first_bin;
  std::shared_ptr<Tensor> tensor;
};

/// What Tensor::ask would do of a tensor with all bins, with the same bits. The shards are in the
/// order of the bins, and have all of them. Each is asked everything at once, one shard after
/// another.
Expected<> ask_shards (const inthist::Shape &whole, std::span<const Shard> shards,
                       std::span<const Query> queries);

}  // namespace integralhist
