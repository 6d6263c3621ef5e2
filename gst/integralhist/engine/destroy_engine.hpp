// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <memory>

#include "engine.hpp"

namespace integralhist {

/// Destroys an engine in a separate thread and waits for that thread. The engine first computes the
/// tensors that consumers still hold, which may take seconds on a CPU. If the caller is cancelled,
/// destroy_engine () returns after 100 ms, and the process waits for the thread at its end. A
/// caller that keeps a reference destroys the engine when it drops the reference.
void destroy_engine (std::shared_ptr<Engine> engine);

}  // namespace integralhist
