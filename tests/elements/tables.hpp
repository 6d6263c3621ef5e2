// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tests of cudaintegralimage share a harness, and tables that are compared with added pixels.
#pragma once

#include <gst/integralhist/gstintegralhist.h>

#include "frames.hpp"
#include "pixel_sums.hpp"

constexpr auto kBins = GST_INTEGRAL_HISTOGRAM_CONTENT_BINS;
constexpr auto kSums = GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS;

/// The sums of a rectangle's values, and of their squares, in a picture of this width.
inline Sums added (const std::vector<guint8> &values, int width, const GstVideoRectangle &r)
{
  return add_pixels (values, width, r, 2);
}

inline GstIntegralHistogram *tables_of (GstBuffer *buffer)
{
  GstIntegralHistogramMeta *meta = gst_buffer_get_integral_histogram_meta_of (buffer, kSums);
  fail_unless (meta, "no table");
  return meta->histogram;
}

/// Compares some rectangles of the buffer's tables with added pixels.
inline void check_sums (const char *what, GstBuffer *buffer, const std::vector<guint8> &values,
                        guint planes)
{
  GstIntegralHistogram *tables = tables_of (buffer);
  const int width = int (gst_integral_histogram_get_width (tables)),
            height = int (gst_integral_histogram_get_height (tables));
  fail_unless_equals_int (int (values.size ()), width * height);
  fail_unless_equals_int (int (gst_integral_histogram_get_bins (tables)), int (planes));
  fail_unless_equals_int (gst_integral_histogram_get_counter (tables),
                          GST_INTEGRAL_HISTOGRAM_COUNTER_U32);
  const GstVideoRectangle rectangles[] = { { 0, 0, width, height },
                                           { width / 3, height / 4, width / 2, height / 2 },
                                           { width - 1, height - 1, 1, 1 },
                                           { 1, 0, width - 1, 3 } };
  std::vector<guint64> sums (4 * planes);
  expect_answer (gst_integral_histogram_regions_sums, tables, rectangles, 4, sums.data ());
  for (std::size_t i = 0; i < 4; i++) {
    const auto wanted = added (values, width, rectangles[i]);
    for (guint p = 0; p < planes; p++)
      fail_unless (sums[i * planes + p] == wanted[p],
                   "%s: rectangle %zu, plane %u: %" G_GUINT64_FORMAT
                   " instead of %" G_GUINT64_FORMAT,
                   what, i, p, sums[i * planes + p], wanted[p]);
  }
}

constexpr const char *kGray40x30 = "video/x-raw,format=GRAY8,width=40,height=30,framerate=25/1";

/// The luma of videotestsrc's frame in the sample, with BT.709's weights for RGB.
inline std::vector<guint8> luma_of (GstSample *sample)
{
  GstVideoInfo info;
  fail_unless (gst_video_info_from_caps (&info, gst_sample_get_caps (sample)));
  return luma (info, gst_sample_get_buffer (sample), rounded_weight (0.2126),
               rounded_weight (0.0722));
}
