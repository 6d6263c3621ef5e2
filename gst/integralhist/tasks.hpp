// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <functional>

#include "error.hpp"

namespace integralhist {

/// Calls `body (i)` for 0 to n - 1 by several threads, whose questions this thread's flag ends, too
/// (interruptible.hpp). Returns the first error in the order of numbers.
Expected<> in_parallel (int n, const std::function<Expected<> (int)> &body);

}  // namespace integralhist
