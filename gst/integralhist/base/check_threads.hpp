// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "error.hpp"

namespace integralhist {

/// Returns an error if the system cannot start the threads that work on the CPU needs: TBB's, which
/// exist from the first call on, and some of ours.
Expected<> check_threads ();

}  // namespace integralhist
