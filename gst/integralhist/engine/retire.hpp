// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <memory>

#include "engine.hpp"

namespace integralhist {

/// Drops an element's engine in a thread of its own and waits for that thread. A caller that keeps
/// another reference drops the engine itself, later. The engine first computes the tensors that
/// still have a holder, which may take seconds on a CPU. If the caller is cancelled, retire ()
/// returns after 100 ms, and the end of the process waits for the thread.
void retire (std::shared_ptr<Engine> engine);

}  // namespace integralhist
