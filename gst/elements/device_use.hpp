// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <utility>

namespace integralhist {

/// Counts an element on a device while it lives, to spread elements that may use any device.
class DeviceUse {
public:
  DeviceUse () = default;
  explicit DeviceUse (int device);
  /// Takes a device; for -1 the first of the devices 0 to devices - 1 that the fewest elements use.
  static DeviceUse of (int device, int devices);
  ~DeviceUse ();
  DeviceUse (DeviceUse &&other) noexcept : device_ (std::exchange (other.device_, -1)) {}
  DeviceUse &operator= (DeviceUse &&other) noexcept
  {
    std::swap (device_, other.device_);
    return *this;
  }

  int device () const { return device_; }  // -1 for none

private:
  int device_ = -1;
};

}  // namespace integralhist
