// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Error messages for a lack of memory: what takes how much, how much is free, and what to do.
#pragma once

#include <string>

#include "host_memory.hpp"

namespace integralhist {

/// Returns the error message "WHAT takes x GiB, and y GiB of host memory are free".
std::string no_memory_text (const std::string &what, std::size_t bytes, const Available &available);
/// Returns the error message "WHAT takes x GiB, and LIMIT is y GiB".
std::string no_memory_within (const std::string &what, std::size_t bytes, const char *limit,
                              std::size_t value);
/// Returns the message for a tensor that finds no memory, with remedies such as fewer bins. `alive`
/// is how many other tensors are in memory.
std::string no_memory_for_tensor (const Shape &shape, const Available &available, unsigned alive);

}  // namespace integralhist
