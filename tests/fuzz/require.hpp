// SPDX-License-Identifier: LGPL-2.1-or-later
//
// If a property does not hold, every fuzzer prints it and ends the process, so that a debugger, a
// sanitizer and libFuzzer see it.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

/// Says what a program is doing, for the message; a null function says nothing.
inline void (*tell_what_was_done) () = nullptr;

[[noreturn]] __attribute__ ((format (printf, 4, 5))) inline void
fail (const char *file, int line, const char *condition, const char *format, ...)
{
  std::fprintf (stderr, "%s:%d: %s does not hold: ", file, line, condition);
  va_list arguments;
  va_start (arguments, format);
  std::vfprintf (stderr, format, arguments);
  va_end (arguments);
  std::fputc ('\n', stderr);
  if (tell_what_was_done)
    tell_what_was_done ();
  std::fflush (nullptr);
  std::abort ();
}

/// Ends the process with a message, as printf has it, where `condition` is false.
#define REQUIRE(condition, ...) \
  ((condition) ? void () : fail (__FILE__, __LINE__, #condition, __VA_ARGS__))
