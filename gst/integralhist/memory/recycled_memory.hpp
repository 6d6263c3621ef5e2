// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "host_memory.hpp"
#include "idle_list.hpp"

namespace integralhist {

/// Allocates blocks of host memory, of a few sizes that are needed again and again. Blocks that
/// users drop are kept for reuse, because the system takes time to provide new pages.
class RecycledMemory : public std::enable_shared_from_this<RecycledMemory> {
public:
  explicit RecycledMemory (AllocateHost allocate = allocate_on_host, std::size_t most_idle = 4)
      : allocate_ (std::move (allocate)), idle_ (most_idle)
  {
  }

  /// Returns a block of at least `bytes` bytes: an idle block of up to four times that size, or a
  /// new one. When the last user drops the block, it becomes idle.
  Expected<HostMemory> take (std::size_t bytes, const NoMemoryMessage &message)
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
  void free_idle ()
  {
    for (const Idle &idle : idle_.take_all ())
      bytes_ -= idle.bytes;
  }
  std::size_t bytes () const { return bytes_; }

private:
  struct Idle {
    HostMemory memory;
    std::size_t bytes = 0;  // at least the requested bytes
  };

  HostMemory returning (Idle piece)
  {
    std::byte *const bytes = piece.memory.get ();
    return { bytes, [to = shared_from_this (), piece = std::move (piece)] (std::byte *) mutable {
              to->give_back (std::move (piece));
            } };
  }
  void give_back (Idle piece) { bytes_ -= idle_.give_back (std::move (piece)).bytes; }

  const AllocateHost allocate_;
  std::atomic<std::size_t> bytes_ = 0;
  IdleList<Idle> idle_;
};

}  // namespace integralhist
