// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Messages for memory that is short: what takes how much, how much there is, and the remedy.
#pragma once

#include <string>

#include "host_memory.hpp"

namespace integralhist {

/// Returns "WHAT takes x GiB, and y GiB of host memory are free".
std::string no_memory (const std::string &what, std::size_t bytes, const Available &available);
/// Returns "WHAT takes x GiB, and LIMIT is y GiB".
std::string no_memory_within (const std::string &what, std::size_t bytes, const char *limit,
                              std::size_t value);
/// Returns no_memory () of a tensor and what makes it smaller; `alive` others exist.
std::string no_memory_for_tensor (const inthist::Shape &shape, std::size_t bytes,
                                  const Available &available, unsigned alive);

}  // namespace integralhist
