// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Reads the text of a property from left to right; errors name the property and quote the text.
#pragma once

#include <algorithm>
#include <charconv>
#include <climits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

/// Returns a text of the user in quotes for an error message: valid UTF-8, at most 200 bytes.
inline std::string quoted (std::string_view text)
{
  constexpr std::size_t kMax = 200;
  return joined ("\"", valid_utf8 (text.substr (0, kMax)), text.size () > kMax ? "...\"" : "\"");
}

class TextReader {
public:
  TextReader (std::string_view text, const char *property, const char *remedy)
      : text_ (text), at_ (text.data ()), end_ (text.data () + text.size ()), property_ (property),
        remedy_ (remedy)
  {
    skip_spaces ();
  }

  bool is_at_end () const { return at_ == end_; }

  /// If the next character of the text is `c`, skips it and the spaces after it, and returns true.
  bool take (char c)
  {
    if (is_at_end () || *at_ != c)
      return false;
    at_++;
    skip_spaces ();
    return true;
  }

  /// Reads the text up to the next character `c`, and skips `c` and the spaces after it. Returns
  /// nothing if the rest of the text has no `c`.
  std::optional<std::string_view> take_before (char c)
  {
    const char *const found = std::find (at_, end_, c);
    if (found == end_)
      return std::nullopt;
    const std::string_view before (at_, std::size_t (found - at_));
    at_ = found + 1;
    skip_spaces ();
    return before;
  }

  template <class Number>
  Expected<Number> number ()
  {
    Number number;
    const auto [after, problem] = std::from_chars (at_, end_, number);
    constexpr bool is_whole = std::is_integral_v<Number>;
    if (problem == std::errc::result_out_of_range)
      return refuse (std::string (at_, after), " is out of range",
                     is_whole ? joined (" (", INT_MIN, " to ", INT_MAX, ")") : "");
    if (problem != std::errc ())
      return missing ("a number");
    if (const char *end = std::find_if (after, end_, is_separator); end != after)
      return refuse (quoted ({ at_, std::size_t (end - at_) }),
                     is_whole ? " is not a whole number" : " is not a number");
    last_ = std::string_view (at_, std::size_t (after - at_));
    at_ = after;
    skip_spaces ();
    return number;
  }

  /// Skips the comma before another number. If the text ends, or continues with the character
  /// `stop`, the error says that a number is missing.
  Expected<> comma (char stop = ',')
  {
    if (take (','))
      return {};
    return missing (is_at_end () || *at_ == stop ? "a number" : "a comma");
  }

  /// Returns the number that was read last, as the user wrote it, for error messages.
  std::string last () const { return std::string (last_); }

  tl::unexpected<Error> missing (const char *what) const
  {
    return refuse (what, " is missing at ",
                   is_at_end () ? "the end" : quoted ({ at_, std::size_t (end_ - at_) }));
  }

  template <class... Parts>
  tl::unexpected<Error> refuse (const Parts &...why) const
  {
    return error (Error::Kind::bad_setting, property_, "=", quoted (text_), ": ", why..., "; ",
                  remedy_);
  }

private:
  void skip_spaces ()
  {
    while (at_ < end_ && *at_ == ' ')
      at_++;
  }

  static bool is_separator (char c) { return c == ' ' || c == ',' || c == ';' || c == ':'; }

  const std::string_view text_;
  const char *at_, *const end_;
  const char *const property_, *const remedy_;
  std::string_view last_;
};

}  // namespace integralhist
