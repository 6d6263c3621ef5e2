// SPDX-License-Identifier: LGPL-2.1-or-later
#include "host_memory.hpp"

#include <cstdlib>
#include <fstream>

#include <sys/mman.h>

#include "engine.hpp"

namespace integralhist {

std::size_t
available_memory ()
{
  std::size_t available = SIZE_MAX, kib, limit, used;
  std::ifstream meminfo ("/proc/meminfo");
  std::string name, unit;
  while (meminfo >> name >> kib && std::getline (meminfo, unit))
    if (name == "MemAvailable:")
      available = kib * 1024;
  std::ifstream limit_file ("/sys/fs/cgroup/memory.max"), used_file ("/sys/fs/cgroup/memory.current");
  if (limit_file >> limit && used_file >> used)  // "max" is no number
    available = std::min (available, limit > used ? limit - used : 0);
  return available;
}

/// Every page is written to, so that what is allocated is no longer free.
static HostMemory
allocate (std::size_t bytes)
{
  constexpr std::size_t kPage = 4096, kHugePage = 2 << 20;
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kPage;
  const std::size_t rounded = (std::max<std::size_t> (bytes, 1) + alignment - 1) / alignment * alignment;
  const HostMemory memory (static_cast<std::byte *> (std::aligned_alloc (alignment, rounded)), std::free);
  if (!memory)
    return nullptr;
  if (alignment == kHugePage)
    madvise (memory.get (), rounded, MADV_HUGEPAGE);
  for (std::size_t i = 0; i < rounded; i += kPage)
    static_cast<volatile std::byte *> (memory.get ())[i] = std::byte (0);
  return memory;
}

HostMemory
allocate_on_host (std::size_t bytes, const std::function<std::string (std::size_t)> &message)
{
  const std::size_t available = available_memory ();
  const HostMemory memory = bytes <= available ? allocate (bytes) : nullptr;
  if (!memory)
    throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY, message (available));
  return memory;
}

}  // namespace integralhist
