// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A tensor in host memory, which the CPU computes.
#pragma once

#include <gst/integralhist/engine/engine_tensor.hpp>
#include <gst/integralhist/memory/host_memory.hpp>

#include "host_fence.hpp"

namespace integralhist {

/// Answers queries (kernels/query.hpp) from a tensor in host memory, on the CPU.
Expected<> answer_on_host (const inthist::TensorView &tensor, std::span<const Query> queries);

class CpuTensor final : public EngineTensor {
public:
  /// Makes a tensor. If memory is short, the error message says that `alive` other tensors exist.
  static Expected<std::unique_ptr<EngineTensor>> create (const Shape &shape, unsigned alive);
  /// Makes a tensor in this memory, which has room for it.
  CpuTensor (const Shape &of, HostMemory memory) : EngineTensor (of), memory_ (std::move (memory))
  {
  }

  Expected<> wait (GstClockTime timeout) override { return computed_.wait (timeout); }
  Expected<> ask (std::span<const Query> queries) override;
  Expected<const void *> host () override;

  std::byte *data () { return memory_.get (); }
  void begin () { computed_.reset (); }
  void finish (const Expected<> &outcome) { computed_.signal (outcome); }

private:
  const HostMemory memory_;
  HostFence computed_;
};

}  // namespace integralhist
