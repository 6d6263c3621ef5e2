// SPDX-License-Identifier: LGPL-2.1-or-later
#include "device_use.hpp"

#include <map>
#include <mutex>

namespace integralhist {
namespace {

std::mutex mutex;
std::map<int, unsigned> &users ()
{
  // Never destroyed: elements may outlive static objects at the end of the process.
  static auto &all = *new std::map<int, unsigned>;
  return all;
}

}  // namespace

DeviceUse::DeviceUse (int device) : device_ (device)
{
  const std::lock_guard lock (mutex);
  users ()[device]++;
}

DeviceUse DeviceUse::of (int device, int devices)
{
  if (device >= 0)
    return DeviceUse (device);
  const std::lock_guard lock (mutex);
  int least = 0;
  for (int other = 1; other < devices; other++)
    if (users ()[other] < users ()[least])
      least = other;
  users ()[least]++;
  DeviceUse use;
  use.device_ = least;
  return use;
}

DeviceUse::~DeviceUse ()
{
  if (device_ < 0)
    return;
  const std::lock_guard lock (mutex);
  users ()[device_]--;
}

}  // namespace integralhist
