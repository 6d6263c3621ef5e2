// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tests repeat less with a sanitizer, which makes each time slow.
#pragma once

#include <cstdlib>
#include <cstring>

/// ThreadSanitizer makes everything but sleeping take ten times as long.
#ifdef __SANITIZE_THREAD__
constexpr bool kSlowed = true;
#else
constexpr bool kSlowed = false;
#endif

/// Returns how often to repeat a loop of n: n, or with INTHIST_CASES=small a fifth of it, or a
/// twentieth under ThreadSanitizer.
inline int repeats (int n)
{
  const char *const cases = std::getenv ("INTHIST_CASES");
  return cases && !std::strcmp (cases, "small") ? n / (kSlowed ? 20 : 5) : n;
}

/// AddressSanitizer marks memory that is allocated and freed.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kMarksMemory = true;
#else
constexpr bool kMarksMemory = false;
#endif
