// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Reads numbers of any type from a GstStructure that another program may have written.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <gst/gst.h>

namespace integralhist {

/// Returns the number in a GValue of any numeric type. Returns nothing if the GValue is null or has
/// another type, or if the number is NaN or infinite.
inline std::optional<double> number_of (const GValue *value)
{
  const GType types[] = { G_TYPE_CHAR,  G_TYPE_UCHAR,  G_TYPE_INT,       G_TYPE_UINT,
                          G_TYPE_LONG,  G_TYPE_ULONG,  G_TYPE_INT64,     G_TYPE_UINT64,
                          G_TYPE_FLOAT, G_TYPE_DOUBLE, GST_TYPE_FRACTION };
  if (!value || std::ranges::count (types, G_VALUE_TYPE (value)) == 0)
    return std::nullopt;
  GValue number = G_VALUE_INIT;
  g_value_init (&number, G_TYPE_DOUBLE);
  if (!g_value_transform (value, &number) || !std::isfinite (g_value_get_double (&number)))
    return std::nullopt;
  return g_value_get_double (&number);
}

/// Returns the number in a GValue if it is an integer that the type `Integer` can represent.
template <class Integer>
std::optional<Integer> integer_of (const GValue *value)
{
  using Limits = std::numeric_limits<Integer>;
  const auto number = number_of (value);
  if (!number || *number != std::floor (*number) || *number < double (Limits::min ())
      || *number > double (Limits::max ()))
    return std::nullopt;
  return Integer (*number);
}

}  // namespace integralhist
