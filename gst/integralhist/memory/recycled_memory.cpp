// SPDX-License-Identifier: LGPL-2.1-or-later
#include "recycled_memory.hpp"

#include <utility>

namespace integralhist {

Expected<HostMemory> RecycledMemory::take (std::size_t bytes, const NoMemoryMessage &message)
{
  Idle idle = idle_.take (
      [bytes] (const Idle &piece) { return piece.bytes >= bytes && piece.bytes / 4 <= bytes; });
  if (idle.memory)
    return returning (std::move (idle));
  auto memory = allocate_ (bytes, message);
  if (!memory && memory.error ().kind == Error::Kind::no_memory) {
    free_idle ();
    memory = allocate_ (bytes, message);
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
  bytes_ -= idle_.give_back (std::move (piece)).bytes;
}

void RecycledMemory::free_idle ()
{
  for (const Idle &idle : idle_.take_all ())
    bytes_ -= idle.bytes;
}

}  // namespace integralhist
