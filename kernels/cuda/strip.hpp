// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "../inthist.hpp"
#include "strip_policy.hpp"

namespace inthist::cuda {

/// Runs strip with a policy other than the default. The workspace has room for strips of 24 or more
/// rows.
int run_strip (const Job &job, const StripPolicy &policy);

}  // namespace inthist::cuda
