// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <mutex>
#include <vector>

#include <gst/integralhist/memory/host_memory.hpp>

namespace integralhist {

/// Buffers for pixels that are not pinned, in memory that all devices reach.
class StagingBuffers : public std::enable_shared_from_this<StagingBuffers> {
public:
  explicit StagingBuffers (AllocateHost allocate) : allocate_ (std::move (allocate)) {}

  /// Returns a buffer, which is for the next frame once it is dropped.
  Expected<HostMemory> take (std::size_t bytes);

private:
  struct Buffer {
    HostMemory memory;
    std::size_t bytes = 0;
  };

  const AllocateHost allocate_;
  std::mutex mutex_;
  std::vector<Buffer> idle_;  // guarded by mutex_
};

}  // namespace integralhist
