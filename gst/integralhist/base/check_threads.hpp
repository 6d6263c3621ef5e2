// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "error.hpp"

namespace integralhist {

/// Returns an error if the system cannot start the threads that computing on the CPU needs: those
/// of TBB, which exist from the first call on, and a few of this library.
Expected<> check_threads ();

}  // namespace integralhist
