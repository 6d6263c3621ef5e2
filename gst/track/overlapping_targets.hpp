// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Targets that have come to the same box: all but the best visible one are duplicates.
#pragma once

#include <memory>
#include <span>

#include "tracked_target.hpp"

namespace integralhist {

inline constexpr double kMatchIou = 0.55;  // above this overlap, two boxes show one target

/// Marks all but the best visible of the targets whose boxes have overlapped for some frames as
/// duplicates: they are reported as lost, but still followed. Targets of a detector are left out,
/// because a detection can bring them back.
void mark_duplicates (std::span<const std::unique_ptr<TrackedTarget>> targets);

}  // namespace integralhist
