// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <functional>

namespace inthist::cpu {

/// Calls `body (i)` for 0 to n - 1, in parallel. What a body does in parallel itself is shared
/// among the threads that are idle. A body must not throw. Returns 0, ENOMEM or EAGAIN.
[[nodiscard]] int in_parallel (int n, const std::function<void (int)> &body);

}  // namespace inthist::cpu
