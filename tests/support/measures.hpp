// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The measures of the C API, by the names in the properties and in formulas.hpp.
#pragma once

#include <gst/integralhist/gstintegralhist.h>

constexpr int kMeasures = GST_INTEGRAL_HISTOGRAM_MEASURE_LINEAR + 1;

inline const char *name_of (GstIntegralHistogramMeasure measure)
{
  static const auto *const names =
      static_cast<GEnumClass *> (g_type_class_ref (GST_TYPE_INTEGRAL_HISTOGRAM_MEASURE));
  g_assert_cmpuint (names->n_values, ==, kMeasures);
  return names->values[measure].value_nick;
}
