// SPDX-License-Identifier: LGPL-2.1-or-later
#include "recycled_memory.hpp"

#include <utility>

#include <gst/integralhist/base/interruptible.hpp>

namespace integralhist {

Expected<HostMemory> RecycledMemory::take (std::size_t bytes, const NoMemoryMessage &message)
{
  {
    const std::lock_guard lock (mutex_);
    for (Idle &idle : idle_)
      if (idle.memory && idle.bytes >= bytes && idle.bytes / 4 <= bytes)
        return returning (std::exchange (idle, {}));
  }
  const Cancelled cancelled (Cancelled (), Interruptible::flag ());  // which outlives the call
  auto memory = allocate_on_host (bytes, message, cancelled);
  if (!memory && memory.error ().kind == Error::Kind::no_memory) {
    free_idle ();
    memory = allocate_on_host (bytes, message, cancelled);
  }
  Idle piece = { TRY (std::move (memory)), bytes };
  bytes_ += bytes;
  return returning (std::move (piece));
}

HostMemory RecycledMemory::returning (Idle piece)
{
  std::byte *const bytes = piece.memory.get ();
  return { bytes, [to = shared_from_this (), piece = std::move (piece)] (std::byte *) mutable {
            to->give_back (std::move (piece));
          } };
}

void RecycledMemory::give_back (Idle piece)
{
  const std::lock_guard lock (mutex_);
  std::swap (idle_[next_], piece);  // what was there is freed without the lock
  bytes_ -= piece.bytes;
  next_ = (next_ + 1) % kMostIdle;
}

void RecycledMemory::free_idle ()
{
  std::array<Idle, kMostIdle> freed;  // without the lock
  const std::lock_guard lock (mutex_);
  freed.swap (idle_);
  for (const Idle &idle : freed)
    bytes_ -= idle.bytes;
}

}  // namespace integralhist
