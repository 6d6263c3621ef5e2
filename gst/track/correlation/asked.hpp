// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <vector>

#include <gst/integralhist/base/error.hpp>
#include <gst/integralhist/gstintegralhist.h>

namespace integralhist {

/// Returns the counts of rectangles, [rectangle][bin].
inline Expected<std::vector<guint32>> counts_of (GstIntegralHistogram *histogram,
                                                 const std::vector<GstVideoRectangle> &rectangles)
{
  std::vector<guint32> counts (rectangles.size () * gst_integral_histogram_get_bins (histogram));
  GError *problem = nullptr;
  if (!gst_integral_histogram_regions (histogram, rectangles.data (), guint (rectangles.size ()),
                                       counts.data (), &problem))
    return take_gerror (problem);
  return counts;
}

}  // namespace integralhist
