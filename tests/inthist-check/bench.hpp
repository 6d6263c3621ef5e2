// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How long a frame takes.
#pragma once

#include <cstdio>

#include "options.hpp"

namespace inthist::check {

/// Times the strategies and peers for each shape and device. Results go to `results`, what was skipped or is wrong to `words`. Returns how many candidates were
/// timed; a negative number where some gave a wrong tensor.
int bench (const Options &options, std::FILE *results, std::FILE *words);

}  // namespace inthist::check
