// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <functional>
#include <memory>

#include "engine.hpp"

namespace integralhist {

/// Drops an element's engine in a thread of its own and waits for that. The engine first computes
/// the tensors that somebody still holds, which may take seconds on a CPU. Where `hurry` says so,
/// this returns after 100 ms; the end of the process then waits for the thread.
void retire (std::shared_ptr<Engine> engine, const std::function<bool ()> &hurry);

}  // namespace integralhist
