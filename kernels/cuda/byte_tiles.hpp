// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "../inthist.hpp"
#include "byte_tiles_policy.hpp"

namespace inthist::cuda {

/// Runs byte-tiles with a policy other than the default. The workspace has room for strips of four
/// or more rows of tiles.
int run_byte_tiles (const Job &job, const TilesPolicy &policy);

}  // namespace inthist::cuda
