// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "../inthist.hpp"

namespace inthist {

/// Runs the serial Algorithm 1 of Poostchi et al., which a strategy must equal bit for bit. Returns
/// ECANCELED as run () does, or EINVAL for tensors of floats or in tiles.
[[nodiscard]] int reference (const Job &job);

}  // namespace inthist
