// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>

/// Memory that a host shares with the blocks that it keeps busy.
struct Busy {
  static constexpr int kMaxBlocks = 4096;

  volatile int started[kMaxBlocks];  // 1 for each block that has started
  volatile int done;                 // ends the blocks, as does the end of their time
};

/// Enqueues blocks that do nothing for so many clock cycles, in the current context. With
/// `shared_bytes` of a whole processor each has one to itself. Returns a cudaError_t; no more than
/// kMaxBlocks are valid.
extern "C" int keep_busy (Busy *busy, int blocks, std::size_t shared_bytes, long long cycles,
                          void *stream);
