// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <gst/integralhist/engine/tensor.hpp>

namespace integralhist {

/// Returns the value of a result to a C caller, or TRUE if the result has none. On an error sets
/// the GError, and returns null, 0 or FALSE.
template <class T>
auto to_c (Expected<T> &&expected, GError **error)
{
  using Result = std::conditional_t<std::is_void_v<T>, gboolean, T>;
  if (!expected) {
    set_gerror (error, expected.error ());
    return Result{};
  }
  if constexpr (std::is_void_v<T>)
    return Result (TRUE);
  else
    return Result (std::move (*expected));
}

template <class T>
void store (T *to, std::type_identity_t<T> value)
{
  if (to)
    *to = value;
}

/// Returns the GType of an enumeration with these values. The first call registers the GType.
template <const auto &kValues>
GType enum_type (const char *name)
{
  static GEnumValue values[std::size (kValues) + 1] = {};  // the last row ends the list
  static const GType type =
      (std::ranges::copy (kValues, values), g_enum_register_static (name, values));
  return type;
}

/// The most windows in a query, so that indices of windows and of GPU threads fit 32 bits.
constexpr gint64 kMaxWindows = G_MAXINT / 8;

/// Converts `n` rectangles of the C API, at least one, to windows of a query, without a copy.
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

/// Allocates an array for `n` answers, which g_free () frees.
template <class Answer>
Expected<Answer *> answers_for (std::size_t n)
{
  if (Answer *const answers = g_try_new (Answer, std::max<std::size_t> (n, 1)))
    return answers;
  return error (Error::Kind::no_memory, "there is no memory for ", n,
                " answers: ask for fewer in each call");
}

}  // namespace integralhist

/// Defines a getter of the C API: it evaluates `value`, or `otherwise` if the object is null.
#define C_GETTER(Object, object, Type, name, otherwise, value) \
  Type name (Object *object) \
  { \
    g_return_val_if_fail (object, otherwise); \
    return value; \
  }
