// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <memory>

namespace integralhist {

/// The number of the CUDA device that an element uses. The living objects are counted for each
/// device, so that elements that may use any device spread over all devices.
using DeviceUse = std::shared_ptr<const int>;

/// Adds a user to a CUDA device. -1 means the least used of the devices 0 to `devices` - 1.
DeviceUse use_device (int device, int devices = 0);

}  // namespace integralhist
