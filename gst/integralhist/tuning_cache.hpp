// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Chooses the strategy for a shape, and keeps measurements in gst-integralhist/tuning.ini in the
// user's cache folder:
//
//   [NVIDIA H200, 132 SMs, driver 13000 580.159.04 / 0.1.0 4677400 1763736721]
//   1920x1080x32-bins-u8-u32=strip;0;0;92.4;0;
//
// The group is inthist::device_fingerprint, our version, and the size and time of the library's
// file. The key is the shape. The fields are the strategy, tile, threads, microseconds a frame, and
// the milliseconds that were too few to measure every candidate, else 0.
//
// Each build, version and driver has its own group, so that two builds side by side keep their
// measurements. The group stored last comes last; the last eight of a device are kept.
//
// Nothing in the file is trusted. An entry counts if it is a candidate of today and was measured
// long enough; others are measured again. Only a regular file of at most 1 MiB is read; anything
// else is replaced. Reading never waits for another process.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include <tuner.hpp>

#include "error.hpp"

namespace integralhist {

struct Plan {
  inthist::Choice choice;
  // the choice's origin: "set", "measured", "cached" or "default"
  const char *tuning = "none";
  std::string story;  // the origin, for the log
};

/// Returns `set`, with its defaults, if it is not null. Otherwise it returns the fastest strategy
/// for the shape on the device (of the current CUDA context): from the cache, or measured in about
/// `milliseconds` with `lanes` frames in flight and written to the cache. With 0 milliseconds it
/// returns the preferred one and ignores the cache. `tensor` is device memory for one tensor and is
/// overwritten. One caller measures at a time. The error is `failed` where no strategy takes the
/// shape, and `flushing` soon after `cancelled` is set, even while waiting for another caller.
Expected<Plan> plan_for (inthist::Device device, const inthist::Shape &shape,
                         const inthist::Strategy *set, unsigned milliseconds, int lanes,
                         void *tensor, const std::atomic<bool> *cancelled);

/// Returns a cache text's choice for a shape, in the group of a device and build. Returns none
/// where there is no entry, or one that `milliseconds` would improve. `why` is set only where the
/// entry is wrong.
std::optional<inthist::Choice> choice_in (std::string_view text, const std::string &group,
                                          inthist::Device device, const inthist::Shape &shape,
                                          unsigned milliseconds, std::string *why);

/// Returns the text with the choice added to the group, which moves to the end. Keeps the last
/// eight groups of a device.
std::string text_with (std::string_view text, const std::string &group, const inthist::Shape &shape,
                       const inthist::Choice &choice, unsigned milliseconds);

}  // namespace integralhist
