// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Host memory for tensors and pictures. Free memory is checked before each allocation: a larger
// allocation would succeed, and the system would kill a process later.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

using HostMemory = std::shared_ptr<std::byte>;

/// How much memory is available, and its kind, such as "host memory".
struct Available {
  std::size_t bytes = 0;
  const char *of = "host memory";
};

/// Returns the bytes that are free without swapping, and the nearest limit: the system's, that of a
/// control group (v1 or v2) or an enclosing one, or the address space's. Tests replace / by `root`.
Available available_memory (const std::string &root = "");

using NoMemoryMessage = std::function<std::string (const Available &available)>;

/// A function that allocates memory for whole tensors and pictures that all devices can read and
/// write.
using AllocateHost =
    std::function<Expected<HostMemory> (std::size_t bytes, const NoMemoryMessage &message)>;

/// Allocates page-aligned memory; large blocks use huge pages if the system has them. If memory is
/// short, the error is `message` of the available memory.
Expected<HostMemory> allocate_on_host (std::size_t bytes, const NoMemoryMessage &message);

}  // namespace integralhist
