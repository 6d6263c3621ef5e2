// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <functional>

namespace inthist::cpu {

/// A CPU task that bins or adds up pixels gets about this many pixels, which takes some tens of
/// microseconds. With 5,000 to 100,000 pixels, a tracker on the 16 cores of a machine with an H200
/// had the same frames a second, as far as two runs of each tell (2026-11-26).
inline constexpr int kPixelsOfATask = 10'000;

/// Calls body (i) for i = 0..n - 1 in parallel. If a body itself works in parallel, the idle
/// threads share the work. A body must not throw. Returns 0, ENOMEM or EAGAIN.
[[nodiscard]] int in_parallel (int n, const std::function<void (int)> &body);

}  // namespace inthist::cpu
