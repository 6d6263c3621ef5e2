// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "../inthist.hpp"

namespace inthist {

/// Computes a tensor by the serial Algorithm 1 of Poostchi et al. 2017, which strategies must equal
/// bit for bit. Returns 0, ECANCELED if cancelled, or EINVAL for tensors of floats or in tiles.
[[nodiscard]] int reference (const Job &job);

}  // namespace inthist
