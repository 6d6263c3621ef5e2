// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Allocates host memory for tensors and pictures. Free memory is checked before each allocation,
// because Linux lets a process allocate more memory than there is, and kills a process later.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

using HostMemory = std::shared_ptr<std::byte>;

/// The number of bytes that are available, and what limits them, as text for error messages.
struct Available {
  std::size_t bytes = 0;
  const char *of = "host memory";
};

/// Returns how much memory the process can get without swapping: the least of what the system, the
/// control groups (v1 and v2) and the address space allow. Tests read files in `root` instead of /.
Available available_memory (const std::string &root = "");

using NoMemoryMessage = std::function<std::string (const Available &available)>;

/// Allocates host memory for tensors and pictures; for several GPUs, memory that all can access.
using AllocateHost =
    std::function<Expected<HostMemory> (std::size_t bytes, const NoMemoryMessage &message)>;

/// Allocates page-aligned host memory, with huge pages for large blocks if the system has them. If
/// memory is short, the error has the text that `message` makes of the available memory.
Expected<HostMemory> allocate_on_host (std::size_t bytes, const NoMemoryMessage &message);

}  // namespace integralhist
