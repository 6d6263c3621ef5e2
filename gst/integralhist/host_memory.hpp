// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Host memory for tensors and pictures. What is free is looked up before memory is taken:
// allocating more than there is would succeed, and the system would kill a process for it later.
// Not installed.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "error.hpp"

namespace integralhist {

using HostMemory = std::shared_ptr<std::byte>;

/// A flag that ends what takes long: measuring, touching much memory, waiting.
using Cancelled = std::shared_ptr<const std::atomic<bool>>;

inline bool is_set (const Cancelled &cancelled)
{
  return cancelled && cancelled->load (std::memory_order_relaxed);
}

/// What can be had without swapping, and which limit is the nearest: the system's, that of a
/// control group (v1 or v2) or of one around it, that on the address space. `root` stands for / in
/// tests.
Available available_memory (const std::string &root = "");

using NoMemoryMessage = std::function<std::string (const Available &available)>;

/// For whole tensors and pictures, that all devices reach.
using AllocateHost = std::function<Expected<HostMemory> (
    std::size_t bytes, const NoMemoryMessage &message, const Cancelled &cancelled)>;

/// Page-aligned; large blocks on huge pages, where the system has them. Where there is not enough,
/// the error has the message for what is free.
Expected<HostMemory> allocate_on_host (std::size_t bytes, const NoMemoryMessage &message,
                                       const Cancelled &cancelled = nullptr);

}  // namespace integralhist
