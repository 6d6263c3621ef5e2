// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Times strategies and peers.
#pragma once

#include <cstdio>

#include "options.hpp"

namespace inthist::check {

/// Times the strategies and peers for each shape and device. Results go to `results`; `words` gets
/// what was left out or is wrong. Returns how many candidates were timed, not counting ceilings
/// that the command line does not name, or a negative number if a candidate gave a wrong tensor.
/// Results so far are written even if something throws.
int bench (const Options &options, std::FILE *results, std::FILE *words);

}  // namespace inthist::check
