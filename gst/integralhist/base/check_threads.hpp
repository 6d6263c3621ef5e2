// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "error.hpp"

namespace integralhist {

/// Starts the threads that work on the CPU needs, for a trial: TBB's, which then stay, and some of
/// ours. Returns an error if the system allows too few threads.
Expected<> check_threads ();

}  // namespace integralhist
