// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Reads small files that a property or a cache names. The name may be that of anything, such as a
// FIFO, and no caller can afford to wait.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "error.hpp"

namespace integralhist {

/// Returns the text of a regular file, or nothing if no file has this name. Never waits to open a
/// file, and reads no more than the file's size. A FIFO, a device or a file of more than
/// `most_bytes` gives an error that says why, without the name.
Expected<std::optional<std::string>> read_regular_file (const std::string &name,
                                                        std::size_t most_bytes);

}  // namespace integralhist
