// SPDX-License-Identifier: LGPL-2.1-or-later
#include <map>
#include <mutex>

#include "cuda_device.hpp"

namespace integralhist {

DeviceUse use_device (int device, int devices)
{
  static std::mutex mutex;
  // The numbers of users of CUDA devices live forever: elements may outlive static objects.
  static auto &users = *new std::map<int, unsigned>;
  const std::lock_guard lock (mutex);
  if (device < 0) {
    device = 0;
    for (int other = 1; other < devices; other++)
      if (users[other] < users[device])
        device = other;
  }
  users[device]++;
  return { new const int (device), [] (const int *used) {
            const std::lock_guard lock (mutex);
            users[*used]--;
            delete used;
          } };
}

}  // namespace integralhist
