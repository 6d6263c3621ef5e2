// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "error.hpp"

namespace integralhist {

/// Calls `body (i)` for 0 to n - 1 on several threads, which inherit the CancelScope of this
/// thread. Returns the error of the lowest number.
Expected<> in_parallel (int n, const std::function<Expected<> (int)> &body);
/// Calls `body (i)` in `tasks` tasks of consecutive numbers, for a `body` that takes little time.
Expected<> in_parallel (int n, int tasks, const std::function<Expected<> (int)> &body);

/// Bytes, and where to copy them.
struct Copy {
  void *to;
  const void *from;
  std::size_t bytes;
};
/// Copies all blocks, on several threads if they are large.
Expected<> copy_in_parallel (std::span<const Copy> copies);

}  // namespace integralhist
