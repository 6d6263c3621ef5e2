// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How an element drops its engine. A histogram may outlive its element, so an engine first computes
// the tensors that somebody holds, which may take seconds on a CPU.
#pragma once

#include "engine.hpp"

namespace integralhist {

/// Drops the engine in a thread of its own and waits for that. Where `hurry` says so, it returns
/// after 100 ms; the end of the process then waits for the thread.
void retire (std::shared_ptr<Engine> engine, const std::function<bool ()> &hurry);

}  // namespace integralhist
