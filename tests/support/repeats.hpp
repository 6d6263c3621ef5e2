// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What tests do less of where a sanitizer looks at each time.
#pragma once

#include <cstdlib>
#include <cstring>

/// ThreadSanitizer has everything but sleeping take ten times as long.
#ifdef __SANITIZE_THREAD__
constexpr bool kSlowed = true;
#else
constexpr bool kSlowed = false;
#endif

/// Returns how often to do something n times: with INTHIST_CASES=small a fifth of it, or a
/// twentieth.
inline int repeats (int n)
{
  const char *const cases = std::getenv ("INTHIST_CASES");
  return cases && !std::strcmp (cases, "small") ? n / (kSlowed ? 20 : 5) : n;
}

/// AddressSanitizer marks what is allocated and freed.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kMarksMemory = true;
#else
constexpr bool kMarksMemory = false;
#endif
