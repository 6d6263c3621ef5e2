// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Errors, as values that functions return; nothing is thrown. The C functions turn them into a
// GError, the elements into an element error (elements/base/messages.hpp).
#pragma once

#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <kernels/expected.hpp>
#include <kernels/inthist.hpp>

#include <gst/integralhist/gstintegralhistogram.h>

namespace integralhist {

struct Error {
  enum class Kind {
    failed,          // the device, the driver or a library
    timeout,         // a wait reached its limit
    flushing,        // a flush or a stop ended a wait; not reported
    no_memory,       // on the host or a device
    no_threads,      // the system starts no more
    no_device,       // a device of the settings is missing
    not_downloaded,  // refused by download=never
    overflow,        // an answer exceeds 32 bits
    bad_question,    // a query is invalid
    bad_setting,     // a property is invalid
    bad_frame,       // a buffer contradicts its caps or metas
    no_histogram,    // frames carry none
  };

  Kind kind;
  std::string message;  // the problem, the limit and the remedy; no full stop
  std::string detail;   // for maintainers, such as the call that failed; may be empty

  Error (Kind k, std::string text, std::string more = {})
      : kind (k), message (std::move (text)), detail (std::move (more))
  {
  }
  /// Converts an error of another type, with the to_error () of that type's namespace
  /// (cuda_error.hpp).
  template <class Other, class = decltype (to_error (std::declval<const Other &> ()))>
  Error (const Other &other) : Error (to_error (other))
  {
  }
};

template <class T = void>
using Expected = inthist::Expected<T, Error>;

/// Joins texts and numbers.
template <class... Parts>
std::string joined (const Parts &...parts)
{
  std::string text;
  const auto add = [&text]<class Part> (const Part &part) {
    if constexpr (std::is_convertible_v<const Part &, std::string_view>)
      text += part;
    else
      text += std::to_string (part);
  };
  (add (parts), ...);
  return text;
}

/// Returns an error whose message is joined from the parts.
template <class... Parts>
tl::unexpected<Error> error (Error::Kind kind, const Parts &...parts)
{
  return tl::unexpected<Error> (Error (kind, joined (parts...)));
}

/// Returns "FILE.cpp:LINE", for the detail of an Error.
std::string name_of (const std::source_location &where);
/// Returns an error if `result` of a CPU kernel is a failure (inthist.hpp).
Expected<> check_host (int result);

/// Sets `target` unless it is null.
void set_gerror (GError **target, const Error &error);
/// Frees a GError of this library and returns it as an Error, with `doing` in front.
tl::unexpected<Error> take_gerror (GError *taken, const char *doing = "");

/// Returns "the integral histogram of 640x480 pixels with 32 bins (u32)", for messages.
std::string describe (const inthist::Shape &shape);
/// Returns the error message for a thread that could not be started; `why` is the system's reason.
std::string no_threads (const std::string &why);

}  // namespace integralhist
