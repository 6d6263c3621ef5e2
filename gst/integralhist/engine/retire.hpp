// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <memory>

#include "engine.hpp"

namespace integralhist {

/// Drops an element's engine in a thread of its own and waits for that. The engine first computes
/// the tensors that somebody still holds, which may take seconds on a CPU. If this thread
/// is cancelled, returns after 100 ms; the end of the process then waits for the other thread.
void retire (std::shared_ptr<Engine> engine);

}  // namespace integralhist
