// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How many elements of this process use each CUDA device, so that those which may take any are
// spread over them.
#pragma once

#include <utility>

namespace integralhist {

/// Counts for as long as it lives.
class DeviceUse {
public:
  DeviceUse () = default;
  explicit DeviceUse (int device);
  /// The device, of 0 to devices - 1, that the fewest use; the first of these.
  static DeviceUse of_least_used (int devices);
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
