// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>

/// What a host and its busy blocks tell each other, in memory that both see.
struct Busy {
  static constexpr int kMaxBlocks = 4096;

  volatile int started[kMaxBlocks];  // 1 for each block that has
  volatile int done;                 // ends them, as does their time
};

/// Enqueues blocks that do nothing for so many clock cycles, in the current context. With
/// `shared_bytes` of a whole processor each has one to itself. Returns a cudaError_t; no more than
/// kMaxBlocks are valid.
extern "C" int keep_busy (Busy *busy, int blocks, std::size_t shared_bytes, long long cycles,
                          void *stream);
