// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <memory>

namespace integralhist {

/// The number of the device that an element uses. Existing objects are counted for each device, so
/// that elements that may use any device spread over all devices.
using DeviceUse = std::shared_ptr<const int>;

/// Counts one more user of the device, and returns it. -1 means the first of the devices 0 to
/// devices - 1 that the fewest elements use.
DeviceUse use_device (int device, int devices = 0);

}  // namespace integralhist
