// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The environment variable INTEGRALHIST_FAULT=DEVICE:N makes the N-th part that a device of a
// sharded engine computes fail, to test failures. Only builds with tests read it.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

struct Fault {
  int device, part;  // devices are numbered from 0, parts from 1
  bool operator== (const Fault &) const = default;
};

/// Parses a fault such as "0:1", the first part on device 0. Returns nothing for an empty text.
inline Expected<std::optional<Fault>> parse_fault (std::string_view text)
{
  if (text.empty ())
    return std::optional<Fault> ();
  Fault fault;
  const char *const end = text.data () + text.size ();
  const auto [colon, wrong_device] = std::from_chars (text.data (), end, fault.device);
  if (wrong_device == std::errc () && colon < end && *colon == ':') {
    const auto [after, wrong_part] = std::from_chars (colon + 1, end, fault.part);
    if (wrong_part == std::errc () && after == end && fault.device >= 0 && fault.part >= 1)
      return std::optional (fault);
  }
  return error (
      Error::Kind::bad_setting, "INTEGRALHIST_FAULT=\"", text,
      "\" is not a fault: set it to DEVICE:N, such as 0:1, for the N-th part on a device");
}

}  // namespace integralhist
