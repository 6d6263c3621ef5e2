// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The strategy that an engine runs, and who chose it.
#pragma once

#include <string>

#include <kernels/tuner.hpp>

namespace integralhist {

struct Plan {
  inthist::Choice choice;
  const char *origin = "none";  // "set", "measured", "cached" or "default"
  std::string description;      // the origin with figures, for the log
};

}  // namespace integralhist
