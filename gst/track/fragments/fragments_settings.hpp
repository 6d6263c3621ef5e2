// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The settings of the fragments tracker, and their table of properties.
#pragma once

#include <gst/integralhist/gstintegralhist.h>
#include <gst/properties/properties.hpp>

namespace integralhist {

struct FragmentsSettings {
  GstIntegralHistogramMeasure measure = GST_INTEGRAL_HISTOGRAM_MEASURE_BHATTACHARYYA;
  double quantile = 0.35;     // of the patches' distances
  unsigned search_range = 7;  // pixels each way
  unsigned strips = 10;       // patches along each side
  double update_rate = 0;     // of each new histogram
  bool scale_search = false;
  double min_confidence = 0.06;
};

/// Returns properties for the fragments tracker, whose descriptions begin with the text `before`.
PropertyTable<FragmentsSettings> fragments_properties (const char *before);

}  // namespace integralhist
