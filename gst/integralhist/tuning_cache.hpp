// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which strategy computes a shape here, and a file that remembers what was measured: tuning.ini in the user's cache, below gst-integralhist.
//
//   [NVIDIA H200, driver 570.86 / 0.1.0]                    what inthist::device_fingerprint says, and our version
//   1920x1080x32-bins-u8-u32=strip;64;256;92.4;             strategy, tile, threads, microseconds a frame
//
// Nothing in the file is trusted: an entry counts if it is one of the candidates of today, and everything else is measured again. Not installed.
#pragma once

#include <string>

#include <tuner.hpp>

namespace integralhist {

struct Plan {
  inthist::Choice choice;
  const char *tuning = "none";  // where the choice is from: "set", "measured", "cached" or "default"
  std::string story;            // the same, for the log
};

/// `set` if there is one, with its defaults. Otherwise the fastest for the shape on the device (of the CUDA context that is current): from the cache, or
/// measured in about `milliseconds` and written to the cache; with 0 milliseconds the preferred one, without a look at the cache. `tensor` is memory of
/// the device for one tensor, and is written to. One caller measures at a time. Throws Error where nothing takes the shape.
Plan plan_for (inthist::Device device, const inthist::Shape &shape, const inthist::Strategy *set, unsigned milliseconds, void *tensor);

}  // namespace integralhist
