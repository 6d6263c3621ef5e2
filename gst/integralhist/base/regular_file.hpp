// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Reads the small files that a property or a cache names. The name may be anything, and no caller
// can afford to wait for the file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "error.hpp"

namespace integralhist {

/// Returns the text of a regular file, or nothing if no file has this name. Opening never waits,
/// and no more is read than the size of the file. A FIFO, a device, /proc/kmsg or a file of more
/// than `most_bytes` gives an error that says why, without the name.
Expected<std::optional<std::string>> read_regular_file (const std::string &name,
                                                        std::size_t most_bytes);

}  // namespace integralhist
