// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "host_memory.hpp"

namespace integralhist {

/// Host memory that is taken again and again in a few sizes. Pieces that come back are kept for
/// the next taker, as touching new pages costs time.
class RecycledMemory : public std::enable_shared_from_this<RecycledMemory> {
public:
  /// Returns memory that comes back when nobody has it any more.
  Expected<HostMemory> take (std::size_t bytes, const NoMemoryMessage &message);
  /// Frees what nobody has taken.
  void free_idle ();
  /// Returns the bytes that are taken or idle.
  std::size_t bytes () const { return bytes_; }

private:
  static constexpr std::size_t kMostIdle = 4;

  struct Idle {
    HostMemory memory;
    std::size_t bytes = 0;  // at least those that were asked for
  };

  HostMemory returning (Idle piece);
  void give_back (Idle piece);

  std::atomic<std::size_t> bytes_ = 0;
  std::mutex mutex_;  // guards all below
  std::array<Idle, kMostIdle> idle_;
  std::size_t next_ = 0;  // the idle piece that the next to come back replaces
};

}  // namespace integralhist
