// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Expected<T, E>: a value, or an error instead of the value. Errors are returned and not thrown,
// because an exception that passes through the frames of a C library ends the process if that
// library has its own code to unwind the stack.
//
//   Expected<int, Failure> parse (...);
//   const int n = TRY (parse (...));  // returns the failure from this function, or goes on
//   TRY_CODE (cudaGetDevice (&id));   // the same for a function that returns 0 or an error code
#pragma once

#include <type_traits>
#include <utility>

#include <tl/expected.hpp>

namespace inthist {

/// Stands for the std::expected of C++23. The result of a function must not be ignored.
template <class T, class E>
class [[nodiscard]] Expected : public tl::expected<T, E> {
public:
  using tl::expected<T, E>::expected;
};

using tl::unexpected;

/// Moves the value out of an Expected. Only TRY calls this, once it knows that there is a value.
template <class T, class E>
T value_of (Expected<T, E> &&expected)
{
  if constexpr (!std::is_void_v<T>)
    return std::move (*expected);
}

}  // namespace inthist

/// Gives the value of an Expected. If there is an error, returns from the enclosing function with
/// the error, converted to that function's error type. TRY must not stand among the arguments of a
/// new-expression: the memory of the new object would leak.
// clang-format off
#define TRY(...) \
  __extension__ ({ \
    auto tried_ = (__VA_ARGS__); \
    if (!tried_) [[unlikely]] \
      return ::tl::make_unexpected (std::move (tried_).error ()); \
    ::inthist::value_of (std::move (tried_)); \
  })

/// Calls a function that gives an error code, and returns this code from the enclosing function
/// unless it is 0.
#define TRY_CODE(...) \
  do { \
    if (const int code_ = (__VA_ARGS__); code_ != 0) [[unlikely]] \
      return code_; \
  } while (false)
// clang-format on
