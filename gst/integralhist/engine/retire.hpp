// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <memory>

#include "engine.hpp"

namespace integralhist {

/// Drops an element's engine in a separate thread and waits for that thread. If the caller keeps
/// another reference, it drops the engine itself, later. The engine first computes the tensors that
/// consumers still hold, which may take seconds on a CPU. If the caller is cancelled, retire ()
/// returns after 100 ms, and the process waits for the thread at its end.
void retire (std::shared_ptr<Engine> engine);

}  // namespace integralhist
