// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pinned host memory, which all GPUs read and write in place.
#pragma once

#include <gst/integralhist/cuda/base/cuda_context.hpp>
#include <gst/integralhist/memory/host_memory.hpp>

namespace integralhist {

Expected<HostMemory> allocate_pinned (std::shared_ptr<CudaContext> context, std::size_t bytes,
                                      const NoMemoryMessage &message);
/// Makes a GstAllocator of pinned memory, or of plain memory if no more is pinned (transfer full).
GstAllocator *new_pinned_allocator (std::shared_ptr<CudaContext> context);
/// Returns whether `bytes` bytes from `data` on lie in a block of an allocator of pinned memory.
bool is_pinned (GstMemory *memory, const void *data, std::size_t bytes);

}  // namespace integralhist
