// SPDX-License-Identifier: LGPL-2.1-or-later
//
// For tests and benchmarks, which may throw: returns the value of an Expected, or throws an
// exception with the text of the error.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <kernels/expected.hpp>

template <class T, class E>
T must (inthist::Expected<T, E> expected)
{
  if (!expected) {
    if constexpr (requires { expected.error ().message; })
      throw std::runtime_error (expected.error ().message);
    else
      throw std::runtime_error (expected.error ().what ());
  }
  return inthist::value_of (std::move (expected));
}
