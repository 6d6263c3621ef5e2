// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "../inthist.hpp"
#include "byte_tiles_policy.hpp"

namespace inthist::cuda {

/// Runs the algorithm byte-tiles with other numbers than the default, to test them. Strips must
/// have at least four rows of tiles, because the workspace has no room for more, shorter strips.
int run_byte_tiles (const Job &job, const TilesPolicy &policy);

}  // namespace inthist::cuda
