// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A tensor that the CPU computes, in host memory.
#pragma once

#include <gst/integralhist/engine/engine_tensor.hpp>
#include <gst/integralhist/memory/host_memory.hpp>

#include "host_fence.hpp"

namespace integralhist {

/// Answers queries from a tensor in host memory.
Expected<> answer_on_host (const inthist::TensorView &tensor, std::span<const Query> queries);

class CpuTensor final : public EngineTensor {
public:
  /// Makes a tensor; its error message says that `alive` others exist.
  static Expected<std::unique_ptr<EngineTensor>> create (const inthist::Shape &shape,
                                                         unsigned alive);

  Expected<> wait (GstClockTime timeout) override { return computed_.wait (timeout); }
  Expected<> ask (std::span<const Query> queries) override;
  Expected<const void *> host () override;

  // The engine calls these.

  std::byte *data () { return memory_.get (); }
  void begin () { computed_.reset (); }
  void finish (const Expected<> &outcome) { computed_.signal (outcome); }

private:
  CpuTensor (const inthist::Shape &of, HostMemory memory)
      : EngineTensor (of), memory_ (std::move (memory))
  {
  }

  const HostMemory memory_;
  HostFence computed_;
};

}  // namespace integralhist
