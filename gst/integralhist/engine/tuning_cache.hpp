// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Chooses the strategy for a shape. Keeps what was measured in gst-integralhist/tuning.ini in the
// user's cache folder:
//
//   [NVIDIA H200, 132 SMs, driver 13000 580.159.04 / 0.1.0 4677400 1763736721]
//   1920x1080x32-bins-u8-u32=strip;0;0;92.4;0;
//
// The group is inthist::device_fingerprint, our version, and the size and time of the library's
// file: each build, version and driver has its own, so that builds side by side keep what they
// measured. The last group stored comes last; the last eight of a device are kept. The key is the
// shape. The fields are the strategy, tile, threads, microseconds a frame, and the milliseconds
// that were too few to measure every candidate, else 0.
//
// Nothing in the file is trusted. An entry counts if it is a candidate of today and was measured
// long enough; others are measured again. Only a regular file of at most 1 MiB is read; anything
// else is replaced. Reading never waits for another process.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include <gst/integralhist/base/error.hpp>

#include "plan.hpp"

namespace integralhist {

/// Returns `set` with its defaults unless it is null. Otherwise returns the fastest strategy on the
/// device (of the current CUDA context): from the cache, or measured in about `milliseconds` with
/// `slots` frames in flight and cached. With 0 milliseconds it is the preferred one, whatever the
/// cache says. `tensor` is device memory for a tensor and is overwritten. One caller measures at a
/// time. The error is `failed` if nothing takes the shape, `flushing` soon after `cancelled` is
/// set.
Expected<Plan> plan_for (inthist::Device device, const inthist::Shape &shape,
                         const inthist::Strategy *set, unsigned milliseconds, int slots,
                         void *tensor, const std::atomic<bool> *cancelled);

/// Returns a cache text's choice for a shape, in the group of a device and build; none without an
/// entry. The error says what is wrong with the entry; one that `milliseconds` would improve is.
Expected<std::optional<inthist::Choice>> choice_in (std::string_view text, const std::string &group,
                                                    inthist::Device device,
                                                    const inthist::Shape &shape,
                                                    unsigned milliseconds);

/// Returns the text with the choice in the group, moved to the end. Keeps a device's last 8 groups.
std::string text_with (std::string_view text, const std::string &group, const inthist::Shape &shape,
                       const inthist::Choice &choice, unsigned milliseconds);

}  // namespace integralhist
