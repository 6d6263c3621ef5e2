// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <functional>

namespace inthist::cpu {

/// Pixels that are worth a task of their own, to make values of or to add up: some tens of
/// microseconds. With 5,000 to 100,000 a tracker beside an H200, on 16 cores, had the same frames a
/// second, as far as two runs of each tell (2026-11-26).
inline constexpr int kPixelsOfATask = 10'000;

/// Calls `body (i)` for 0 to n - 1, in parallel. What a body does in parallel itself is shared
/// among the threads that are idle. A body must not throw. Returns 0, ENOMEM or EAGAIN.
[[nodiscard]] int in_parallel (int n, const std::function<void (int)> &body);

}  // namespace inthist::cpu
