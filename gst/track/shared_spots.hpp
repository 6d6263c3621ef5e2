// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Targets that have come to one spot: all but the surest of them yield.
#pragma once

#include <memory>
#include <span>

#include "tracked_target.hpp"

namespace integralhist {

inline constexpr double kMatchIou = 0.55;  // above this overlap, two boxes show one target

/// Lets all but the surest of the targets that have shared a spot for some frames yield: they are
/// reported as lost, but still followed. Targets of a detector are left out, because a detection
/// can bring them back.
void yield_on_one_spot (std::span<const std::unique_ptr<TrackedTarget>> targets);

}  // namespace integralhist
