// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "error.hpp"

namespace integralhist {

/// Calls `body (i)` for each number i from 0 to n - 1, on several threads, which are cancelled with
/// the calling thread (cancel.hpp). Returns the error of the lowest number.
Expected<> in_parallel (int n, const std::function<Expected<> (int)> &body);
/// Calls `body (i)` for i from 0 to n - 1 in `tasks` tasks of consecutive numbers, because a task
/// for each number would cost more than a short `body`.
Expected<> in_parallel (int n, int tasks, const std::function<Expected<> (int)> &body);

struct Copy {
  void *to;
  const void *from;
  std::size_t bytes;
};
/// Copies blocks of memory, on several threads if there are many bytes.
Expected<> copy_in_parallel (std::span<const Copy> copies);

}  // namespace integralhist
