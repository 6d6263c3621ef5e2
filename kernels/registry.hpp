// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The strategies of this build.
#pragma once

#include <span>
#include <string_view>

#include "inthist.hpp"

namespace inthist {

/// Returns the algorithms of this build, for each device in the order of preference.
std::span<const Strategy> strategies ();
/// Returns the published algorithms of this build (published/). They also compute tables of types
/// that only inthist-check uses.
std::span<const Strategy *const> published_strategies ();
const Strategy *find_strategy (std::string_view name);
/// Returns the device's first strategy that supports the shape.
const Strategy *preferred_strategy (Device device, const Shape &shape);

}  // namespace inthist
