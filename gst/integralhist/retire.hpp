// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How an element parts with an engine. A histogram outlives its element, so an engine that is
// dropped first computes what somebody still holds, and that may take seconds on a CPU. Not
// installed.
#pragma once

#include "engine.hpp"

namespace integralhist {

/// Drops the engine in a thread of its own, and returns when that is done; where `hurry` says so,
/// after a moment. The end of the process waits for what then still goes on.
void retire (std::shared_ptr<Engine> engine, const std::function<bool ()> &hurry);

}  // namespace integralhist
