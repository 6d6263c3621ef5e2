// SPDX-License-Identifier: LGPL-2.1-or-later
#include "host_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/resource.h>

#include <gst/integralhist/base/cancel.hpp>

namespace integralhist {
namespace {

/// Reads a number from a file of a Linux control group. Fails if the file says "max" (no limit).
bool read_number (const std::string &file, std::size_t *number)
{
  std::ifstream stream (file);
  return bool (stream >> *number);
}

/// Reads the number of the line "NAME VALUE" of a file such as /proc/meminfo.
bool read_field (const std::string &file, const std::string &name, std::size_t *value)
{
  std::ifstream stream (file);
  std::string word, rest;
  while (stream >> word >> *value && std::getline (stream, rest))
    if (word == name)
      return true;
  return false;
}

void lower (Available *available, std::size_t limit, std::size_t used, const char *of)
{
  const std::size_t left = limit > used ? limit - used : 0;
  if (left < available->bytes)
    *available = { left, of };
}

/// Names of the files of Linux control groups, which differ between version 1 and version 2.
struct GroupFiles {
  const char *folder, *limit, *used, *reclaimable;
};

/// Lowers the available memory to what a Linux control group and its parents allow. Page cache
/// counts as free.
void lower_by_groups (Available *available, const std::string &root, std::string group,
                      const GroupFiles &files)
{
  for (;;) {
    const std::string folder =
        std::string (root).append (files.folder).append (group == "/" ? "" : group).append ("/");
    std::size_t limit, used, cache = 0;
    if (read_number (folder + files.limit, &limit) && read_number (folder + files.used, &used)) {
      if (!read_field (folder + "memory.stat", files.reclaimable, &cache) || cache > used)
        cache = 0;
      lower (available, limit, used - cache, "the memory that the control group allows");
    }
    if (group.empty () || group == "/")
      return;
    group.resize (group.rfind ('/'));
  }
}

void lower_by_groups (Available *available, const std::string &root)
{
  constexpr GroupFiles kV1 = { "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                               "memory.usage_in_bytes", "total_inactive_file" };
  constexpr GroupFiles kV2 = { "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file" };
  // The root group is read too: in a container, /proc/self/cgroup may name a path of the host.
  lower_by_groups (available, root, "/", kV2);
  lower_by_groups (available, root, "/", kV1);
  std::ifstream groups (root + "/proc/self/cgroup");
  for (std::string line; std::getline (groups, line);) {  // NUMBER:CONTROLLERS:/PATH
    const std::size_t first = line.find (':'), second = line.find (':', first + 1);
    if (second == std::string::npos || line.size () <= second + 1 || line[second + 1] != '/')
      continue;
    const std::string path = line.substr (second + 1);
    std::string controllers (",");
    controllers.append (line, first + 1, second - first - 1).append (",");
    if (controllers == ",,")
      lower_by_groups (available, root, path, kV2);
    else if (controllers.find (",memory,") != std::string::npos)
      lower_by_groups (available, root, path, kV1);
  }
}

void lower_by_address_space (Available *available, const std::string &root)
{
  rlimit limit;
  std::size_t pages;
  if (getrlimit (RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
      && read_number (root + "/proc/self/statm", &pages))
    lower (available, limit.rlim_cur, pages * std::size_t (sysconf (_SC_PAGESIZE)),
           "the address space that ulimit -v allows");
}

/// Allocates host memory, and writes to every page so that the system no longer counts the memory
/// as free. Returns null on failure.
HostMemory allocate (std::size_t bytes)
{
  constexpr std::size_t kPage = 4096, kHugePage = 2 << 20;
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kPage;
  const std::size_t rounded = inthist::round_up (std::max<std::size_t> (bytes, 1), alignment);
  const HostMemory memory (static_cast<std::byte *> (std::aligned_alloc (alignment, rounded)),
                           std::free);
  if (!memory)
    return nullptr;
  if (alignment == kHugePage)
    madvise (memory.get (), rounded, MADV_HUGEPAGE);
  for (std::size_t i = 0; i < rounded && !(i % kHugePage == 0 && CancelScope::is_cancelled ());
       i += kPage)
    static_cast<volatile std::byte *> (memory.get ())[i] = std::byte (0);
  return memory;
}

}  // namespace

Available available_memory (const std::string &root)
{
  Available available = { SIZE_MAX, "host memory" };
  const std::string meminfo = root + "/proc/meminfo";
  std::size_t kib, limit_kib, mode;
  if (read_field (meminfo, "MemAvailable:", &kib))
    available.bytes = kib * 1024;
  if (read_number (root + "/proc/sys/vm/overcommit_memory", &mode) && mode == 2
      && read_field (meminfo, "CommitLimit:", &limit_kib)
      && read_field (meminfo, "Committed_AS:", &kib))
    lower (&available, limit_kib * 1024, kib * 1024,
           "the memory that vm.overcommit_memory=2 lets processes commit");
  lower_by_groups (&available, root);
  lower_by_address_space (&available, root);
  return available;
}

Expected<HostMemory> allocate_on_host (std::size_t bytes, const NoMemoryMessage &message)
{
  // Up to this many bytes, checking free memory would take longer than the allocation.
  constexpr std::size_t kSmall = 64 << 10;
  const Available available = bytes <= kSmall ? Available{ SIZE_MAX, "" } : available_memory ();
  const HostMemory memory = bytes <= available.bytes ? allocate (bytes) : nullptr;
  TRY (CancelScope::check ());
  if (!memory)
    return error (Error::Kind::no_memory,
                  message (bytes <= kSmall ? available_memory () : available));
  return memory;
}

}  // namespace integralhist
