// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Messages about memory that is short: what needs how much, how much is free, and the remedy.
#pragma once

#include <string>

#include "host_memory.hpp"

namespace integralhist {

/// Returns "WHAT takes x GiB, and y GiB of host memory are free".
std::string no_memory (const std::string &what, std::size_t bytes, const Available &available);
/// Returns "WHAT takes x GiB, and LIMIT is y GiB".
std::string no_memory_within (const std::string &what, std::size_t bytes, const char *limit,
                              std::size_t value);
/// Returns the message of no_memory () for a tensor, with remedies such as fewer bins; `alive`
/// other tensors exist.
std::string no_memory_for_tensor (const inthist::Shape &shape, std::size_t bytes,
                                  const Available &available, unsigned alive);

}  // namespace integralhist
