// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A value, or an error instead of the value. Nothing here throws: an exception that passes through
// the frames of a C library ends the process if this library has its own code to unwind the stack.
//
//   Expected<int, Failure> parse (...);
//   const int n = TRY (parse (...));  // returns the failure from this function, or goes on
#pragma once

#include <type_traits>
#include <utility>

#include <tl/expected.hpp>

namespace inthist {

/// Has the role of std::expected of C++23. A caller must not ignore it.
template <class T, class E>
class [[nodiscard]] Expected : public tl::expected<T, E> {
public:
  using tl::expected<T, E>::expected;
};

using tl::unexpected;

/// Returns the value. Only TRY calls this, after it has checked that there is a value.
template <class T, class E>
T value_of (Expected<T, E> &&expected)
{
  if constexpr (!std::is_void_v<T>)
    return std::move (*expected);
}

}  // namespace inthist

/// Gives the value of an Expected, or returns from the function with its error, converted to the
/// function's own. Must not stand among the arguments of a new-expression: the memory of the object
/// would be lost.
// clang-format off
#define TRY(...) \
  __extension__ ({ \
    auto tried_ = (__VA_ARGS__); \
    if (!tried_) [[unlikely]] \
      return ::tl::make_unexpected (std::move (tried_).error ()); \
    ::inthist::value_of (std::move (tried_)); \
  })
// clang-format on
