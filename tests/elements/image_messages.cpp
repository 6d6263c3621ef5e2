// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The messages of cudaintegralimage have the sums of the regions' pixels, and the variance by the
// textbooks' definition.
#include "tables.hpp"
#include "test.hpp"

static guint64 u64_at (const GstStructure *structure, const char *field, guint i)
{
  const GValue *all = gst_structure_get_value (structure, field);
  fail_unless (all && GST_VALUE_HOLDS_ARRAY (all) && gst_value_array_get_size (all) == 2, "%s",
               field);
  return g_value_get_uint64 (gst_value_array_get_value (all, i));
}

static double double_at (const GstStructure *structure, const char *field, guint i)
{
  const GValue *all = gst_structure_get_value (structure, field);
  fail_unless (all && GST_VALUE_HOLDS_ARRAY (all) && gst_value_array_get_size (all) == 2, "%s",
               field);
  return g_value_get_double (gst_value_array_get_value (all, i));
}

/// The fields of the message, for each of two regions, against sums of the picture; the variance
/// against its definition.
TEST (messages)
{
  for (const bool squared : { false, true }) {
    Harness h (std::string ("cudaintegralimage backend=cpu regions=3,4,20,10;-5,-5,1000,1000 ")
                   + (squared ? "squared=true" : ""),
               kGray40x30);
    const GstVideoInfo info = gray (40, 30);
    for (guint64 frame = 0; frame < 2; frame++) {
      GstBuffer *in = noise (info, unsigned (frame));
      GST_BUFFER_PTS (in) = frame * 40 * GST_MSECOND;
      GST_BUFFER_DURATION (in) = 40 * GST_MSECOND;
      const auto values = luma (info, in, 0, 0);
      gst_buffer_unref (gst_harness_push_and_pull (h, in));
      g_autoptr (GstMessage) message = h.message (GST_MESSAGE_ELEMENT, 10 * GST_SECOND);
      fail_unless (message && gst_message_has_name (message, "integral-image"));
      const GstStructure *structure = gst_message_get_structure (message);
      guint64 number, timestamp, stream_time, running_time, duration;
      fail_unless (gst_structure_get (structure, "frame", G_TYPE_UINT64, &number, "timestamp",
                                      G_TYPE_UINT64, &timestamp, "stream-time", G_TYPE_UINT64,
                                      &stream_time, "running-time", G_TYPE_UINT64, &running_time,
                                      "duration", G_TYPE_UINT64, &duration, nullptr));
      fail_unless (number == frame && timestamp == frame * 40 * GST_MSECOND
                   && stream_time == timestamp && running_time == timestamp
                   && duration == 40 * GST_MSECOND);
      fail_unless (gst_structure_has_field (structure, "sum-of-squares") == squared
                   && gst_structure_has_field (structure, "variance") == squared
                   && !gst_structure_has_field (structure, "counts"));
      const GstVideoRectangle regions[] = { { 3, 4, 20, 10 }, { 0, 0, 40, 30 } };
      g_autofree char *rectangles =
          gst_value_serialize (gst_structure_get_value (structure, "rectangles"));
      fail_unless (strstr (rectangles, "3") && strstr (rectangles, "40")
                       && !strstr (rectangles, "-5"),
                   "%s", rectangles);
      for (guint i = 0; i < 2; i++) {
        const GstVideoRectangle &r = regions[i];
        const auto wanted = added (values, 40, r);
        const double area = r.w * r.h, mean = double (wanted[0]) / area;
        fail_unless_equals_uint64 (u64_at (structure, "sum", i), wanted[0]);
        fail_unless (std::abs (double_at (structure, "mean", i) - mean) < 1e-9);
        if (!squared)
          continue;
        double deviations = 0;
        for (int y = r.y; y < r.y + r.h; y++)
          for (int x = r.x; x < r.x + r.w; x++)
            deviations += std::pow (values[y * 40 + x] - mean, 2);
        fail_unless_equals_uint64 (u64_at (structure, "sum-of-squares", i), wanted[1]);
        fail_unless (std::abs (double_at (structure, "variance", i) - deviations / area) < 1e-6,
                     "%g instead of %g", double_at (structure, "variance", i), deviations / area);
      }
    }
  }
}

/// A picture of one value has no variance, not even a negative one.
TEST (no_variance)
{
  for (const int value : { 0, 1, 77, 255 }) {
    Harness h ("cudaintegralimage backend=cpu squared=true regions=1,1,7,3;0,0,40,30", kGray40x30);
    gst_buffer_unref (gst_harness_push_and_pull (h, even (gray (40, 30), guint8 (value))));
    g_autoptr (GstMessage) message = h.message (GST_MESSAGE_ELEMENT, 10 * GST_SECOND);
    fail_unless (message);
    for (guint i = 0; i < 2; i++) {
      const double variance = double_at (gst_message_get_structure (message), "variance", i);
      fail_unless (variance >= 0 && variance < 1e-9, "%g", variance);
    }
  }
}
