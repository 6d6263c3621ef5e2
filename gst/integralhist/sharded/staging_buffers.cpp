// SPDX-License-Identifier: LGPL-2.1-or-later
#include "staging_buffers.hpp"

#include <gst/integralhist/memory/memory_messages.hpp>

namespace integralhist {

Expected<HostMemory> StagingBuffers::take (std::size_t bytes)
{
  Buffer buffer;
  {
    const std::lock_guard lock (mutex_);
    if (!idle_.empty ()) {
      buffer = std::move (idle_.back ());
      idle_.pop_back ();
    }
  }
  if (buffer.bytes < bytes)
    buffer = { TRY (allocate_ (
                   bytes,
                   [bytes] (const Available &available) {
                     return no_memory ("a frame's pixels", bytes, available)
                            + ": lower async-depth";
                   },
                   nullptr)),
               bytes };
  return HostMemory (buffer.memory.get (), [buffers = shared_from_this (), buffer] (std::byte *) {
    const std::lock_guard lock (buffers->mutex_);
    buffers->idle_.push_back (buffer);
  });
}

}  // namespace integralhist
