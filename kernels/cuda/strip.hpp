// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "../inthist.hpp"
#include "strip_policy.hpp"

namespace inthist::cuda {

/// Runs the algorithm strip with other numbers than the default, to time them. Strips must have at
/// least 24 rows, because the workspace has no room for more, shorter strips.
int run_strip (const Job &job, const StripPolicy &policy);

}  // namespace inthist::cuda
