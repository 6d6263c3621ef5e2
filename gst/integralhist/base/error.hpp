// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Errors are values that functions return; nothing is thrown. The C functions turn an Error into a
// GError, the elements into an element error message (elements/base/messages.hpp).
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

using inthist::Binning, inthist::Content, inthist::Device, inthist::Image, inthist::Lut,
    inthist::PixelFormat, inthist::PixelPlane, inthist::Region, inthist::Shape, inthist::Strategy,
    inthist::Stream;

struct Error {
  enum class Kind {
    failed,          // the device, the driver or a library failed
    timeout,         // a wait reached its time limit
    flushing,        // a flush or a stop ended a wait; not reported to the application
    no_memory,       // too little memory on the host or on a device
    no_threads,      // the system starts no more threads
    no_device,       // a device that the settings name is missing
    not_downloaded,  // download=never forbids the copy to the host
    overflow,        // a count in an answer exceeds 32 bits
    bad_question,    // a query is invalid
    bad_setting,     // a property is invalid
    bad_frame,       // a buffer contradicts its caps or metas
    no_histogram,    // frames carry no integral histogram
  };

  Kind kind;
  std::string message;  // what happened, the limit and the remedy; no full stop
  std::string detail;   // for developers, such as the CUDA call that failed; may be empty

  Error (Kind k, std::string text, std::string more = {})
      : kind (k), message (std::move (text)), detail (std::move (more))
  {
  }
  /// Converts an error of another type with the function to_error () in that type's namespace, as
  /// cuda_error.hpp declares it for CUDA errors.
  template <class Other, class = decltype (to_error (std::declval<const Other &> ()))>
  Error (const Other &other) : Error (to_error (other))
  {
  }
};

template <class T = void>
using Expected = inthist::Expected<T, Error>;

/// Returns a number as text with at most six digits and, in all locales, a decimal point.
std::string text_of_number (double number);
/// Returns a text of any bytes as valid UTF-8, for error messages.
std::string valid_utf8 (std::string_view text);

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

template <class... Parts>
tl::unexpected<Error> error (Error::Kind kind, const Parts &...parts)
{
  return tl::unexpected<Error> (Error (kind, joined (parts...)));
}

/// Returns the text "FILE.cpp:LINE", for the detail of an Error.
std::string name_of (const std::source_location &where);
/// Turns the result of a CPU kernel (an errno, kernels/inthist.hpp) into an Error; 0 is success.
Expected<> check_host (int result);

/// Stores an Error in the GError `target`, unless that is null.
void set_gerror (GError **target, const Error &error);
/// Frees a GError of this library and returns it as an Error whose message begins with `doing`.
tl::unexpected<Error> take_gerror (GError *taken, const char *doing = "");

/// Returns a text like "the integral histogram of 640x480 pixels with 32 bins (u32)", for messages.
std::string describe (const Shape &shape);
/// Returns the error message for a thread that could not start, with the system's reason `why`.
std::string no_threads_text (const std::string &why);

}  // namespace integralhist
