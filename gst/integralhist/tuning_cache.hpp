// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which strategy computes a shape here, and a file that remembers what was measured: tuning.ini in
// the user's cache, below gst-integralhist.
//
//   [NVIDIA H200, 132 SMs, driver 13000 580.159.04 / 0.1.0 4677400 1763736721]
//   1920x1080x32-bins-u8-u32=strip;0;0;92.4;0;
//
// The group is what inthist::device_fingerprint says, our version, and size and time of the
// library's file. The key is the shape. The fields are the strategy, tile, threads, microseconds a
// frame, and the milliseconds that were too few to measure every candidate, else 0.
//
// Builds, versions and drivers have a group each, so that two builds side by side keep what they
// measured. The group that was stored last stands last, and of one device the last eight are kept.
//
// Nothing in the file is trusted: an entry counts if it is one of the candidates of today, and was
// not cut shorter than would be now; everything else is measured again. Nor is the file: only a
// regular one of at most 1 MiB is read, and whatever else is there is replaced. Opening and reading
// it does not wait for others. Not installed.
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
  const char *tuning =
      "none";         // where the choice is from: "set", "measured", "cached" or "default"
  std::string story;  // the same, for the log
};

/// `set` if there is one, with its defaults. Otherwise the fastest for the shape on the device (of
/// the CUDA context that is current): from the cache, or measured in about `milliseconds` and
/// written to the cache; with 0 milliseconds the preferred one, without a look at the cache.
/// `tensor` is memory of the device for one tensor, and is written to; `lanes` frames are in the
/// making at once. One caller measures at a time. Where nothing takes the shape the error is
/// `failed`. Once `cancelled` is set it is soon `flushing`, also of a caller who waits for another.
Expected<Plan> plan_for (inthist::Device device, const inthist::Shape &shape,
                         const inthist::Strategy *set, unsigned milliseconds, int lanes,
                         void *tensor, const std::atomic<bool> *cancelled);

/// What the text of a cache file says of a shape, in the group of a device and build; nothing where
/// it does not know, or knows less than `milliseconds` would find out. `why` gets what is wrong
/// with what it says, and stays as it is where it says nothing.
std::optional<inthist::Choice> choice_in (std::string_view text, const std::string &group,
                                          inthist::Device device, const inthist::Shape &shape,
                                          unsigned milliseconds, std::string *why);

/// The text with the choice added to it, in the group, which then is the last. Of the groups of one
/// device the last eight are kept.
std::string text_with (std::string_view text, const std::string &group, const inthist::Shape &shape,
                       const inthist::Choice &choice, unsigned milliseconds);

}  // namespace integralhist
