// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <gst/integralhist/engine/tensor.hpp>

namespace integralhist {

/// Returns the value of `expected` to a C caller. If it is an error, sets the GError and returns
/// `failed`.
template <class Result, class T>
Result to_c (Expected<T> &&expected, Result failed, GError **error)
{
  if (!expected) {
    set_gerror (error, expected.error ());
    return failed;
  }
  if constexpr (std::is_void_v<T>)
    return TRUE;
  else
    return std::move (*expected);
}

/// Stores a value at `to`; the caller may pass null.
template <class T>
void store (T *to, std::type_identity_t<T> value)
{
  if (to)
    *to = value;
}

/// The largest number of windows in a query, so that indices of windows and threads fit 32 bits.
constexpr gint64 kMaxWindows = G_MAXINT / 8;

/// Returns `n` rectangles as windows, without a copy. There must be at least one rectangle.
inline Expected<inthist::Windows> windows_of (const GstVideoRectangle *rectangles, guint n)
{
  using inthist::Region;
  static_assert (sizeof (Region) == sizeof (GstVideoRectangle)
                 && offsetof (Region, y) == offsetof (GstVideoRectangle, y)
                 && offsetof (Region, width) == offsetof (GstVideoRectangle, w)
                 && offsetof (Region, height) == offsetof (GstVideoRectangle, h));
  if (n > kMaxWindows)
    return error (Error::Kind::bad_question, n, " rectangles are more than ", kMaxWindows,
                  ": ask for fewer in each call");
  return inthist::Windows{ reinterpret_cast<const Region *> (rectangles), int (n), {} };
}

/// Allocates `n` answers; g_free () releases them.
template <class Answer>
Expected<Answer *> answers_for (std::size_t n)
{
  if (Answer *const answers = g_try_new (Answer, std::max<std::size_t> (n, 1)))
    return answers;
  return error (Error::Kind::no_memory, "there is no memory for ", n,
                " answers: ask for fewer in each call");
}

}  // namespace integralhist

/// Defines a function of the C API that returns `value`, read from an `Object`. If the object is
/// null, the function returns `otherwise`.
#define C_GETTER(Object, object, Type, name, otherwise, value) \
  Type name (Object *object) \
  { \
    g_return_val_if_fail (object, otherwise); \
    return value; \
  }
