// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "error.hpp"

namespace integralhist {

/// Calls `body (i)` for 0 to n - 1 by several threads, which have the CancelScope of this thread.
/// Returns the first error in the order of numbers.
Expected<> in_parallel (int n, const std::function<Expected<> (int)> &body);
/// Does the same in `tasks` tasks, each of which has neighbours: for a `body` that takes little.
Expected<> in_parallel (int n, int tasks, const std::function<Expected<> (int)> &body);

/// Bytes, and where they are wanted.
struct Copy {
  void *to;
  const void *from;
  std::size_t bytes;
};
/// Copies all of them, by several threads where they are many.
Expected<> copy_in_parallel (std::span<const Copy> copies);

}  // namespace integralhist
