// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Host memory for tensors and pictures, asked for before it is taken: allocating more than there is would succeed, and somebody would be killed for it later. Not installed.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace integralhist {

using HostMemory = std::shared_ptr<std::byte>;

/// Bytes that can be had without swapping, by the system and by the container that we may be in.
std::size_t available_memory ();

/// For whole tensors and pictures, that all devices reach. Throws.
using AllocateHost = std::function<HostMemory (std::size_t bytes, const std::function<std::string (std::size_t available)> &message)>;

/// Page-aligned; large ones on huge pages, where the system has them. Where there is not enough, throws an Error with the message for the bytes that are free.
HostMemory allocate_on_host (std::size_t bytes, const std::function<std::string (std::size_t available)> &message);

}  // namespace integralhist
