// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tells devices and drivers apart, for what was measured on them.
#pragma once

#include <string>

#include "inthist.hpp"

namespace inthist {

/// Names the device, its driver and what it lends to this process, or returns "" for a device
/// without a name. A measurement by the same build holds while this line stays the same.
std::string device_fingerprint (Device device);

}  // namespace inthist
