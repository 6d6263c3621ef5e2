// SPDX-License-Identifier: LGPL-2.1-or-later
//
// printf into a string.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <string>

namespace inthist::check {

[[gnu::format (printf, 1, 2)]] inline std::string text (const char *format, ...)
{
  std::va_list arguments, again;
  va_start (arguments, format);
  va_copy (again, arguments);
  std::string out (std::size_t (std::vsnprintf (nullptr, 0, format, arguments)), 0);
  std::vsnprintf (out.data (), out.size () + 1, format, again);
  va_end (again);
  va_end (arguments);
  return out;
}

}  // namespace inthist::check
