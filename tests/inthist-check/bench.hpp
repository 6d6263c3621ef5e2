// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How long a frame takes.
#pragma once

#include <cstdio>

#include "options.hpp"

namespace inthist::check {

/// Times the strategies and peers for each shape and device. Results go to `results`, what was left
/// out or is wrong to `words`. Returns how many candidates were timed, ceilings that nobody named
/// apart; a negative number where some gave a wrong tensor. What is known by then is written even
/// when something throws.
int bench (const Options &options, std::FILE *results, std::FILE *words);

}  // namespace inthist::check
