// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The registry of strategies, which are the algorithms that compute tensors.
#pragma once

#include <span>
#include <string_view>

#include "inthist.hpp"

namespace inthist {

/// Returns all strategies (algorithms), for each device in the order of preference.
std::span<const Strategy> strategies ();
/// Returns the strategies that reimplement published algorithms (kernels/published/), for
/// comparisons. They also compute tables of types that only inthist-check uses.
std::span<const Strategy *const> published_strategies ();
const Strategy *find_strategy (std::string_view name);
/// Returns the first of the strategies () that runs on the device and supports the shape, or null.
const Strategy *preferred_strategy (Device device, const Shape &shape);

}  // namespace inthist
