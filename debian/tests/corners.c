// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Counts the pixels of a rectangle one by one, and compares with the histogram of the rectangle.
#include <gst/integralhist/gstintegralhist.h>

enum { kBins = 16, kX = 50, kY = 40, kWidth = 120, kHeight = 90 };

static void count_pixels (GstBuffer *buffer, guint32 *counts)
{
  GstVideoInfo info;
  GstVideoFrame frame;
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, 320, 240);
  g_assert_true (gst_video_frame_map (&frame, &info, buffer, GST_MAP_READ));
  for (int y = kY; y < kY + kHeight; y++) {
    const guint8 *row = (const guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&frame, 0)
                        + y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0);
    for (int x = kX; x < kX + kWidth; x++)
      counts[row[x] * kBins / 256]++;
  }
  gst_video_frame_unmap (&frame);
}

int main (int argc, char **argv)
{
  guint32 expected[kBins] = { 0 }, counts[kBins] = { 0 };
  GError *error = NULL;
  gst_init (&argc, &argv);
  GstElement *pipeline = gst_parse_launch (
      "videotestsrc num-buffers=1 ! video/x-raw,format=GRAY8,width=320,height=240 ! "
      "cudaintegralhist bins=16 ! fakesink name=sink",
      &error);
  g_assert_no_error (error);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message =
      gst_bus_timed_pop_filtered (bus, 60 * GST_SECOND, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  g_assert_true (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS);
  gst_message_unref (message);

  GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  GstSample *sample = NULL;
  g_object_get (sink, "last-sample", &sample, NULL);
  g_assert_nonnull (sample);
  GstBuffer *buffer = gst_sample_get_buffer (sample);
  GstIntegralHistogramMeta *meta = gst_buffer_get_integral_histogram_meta (buffer);
  g_assert_nonnull (meta);
  gst_integral_histogram_region (meta->histogram, kX, kY, kWidth, kHeight, counts, &error);
  g_assert_no_error (error);
  count_pixels (buffer, expected);
  g_assert_cmpmem (counts, sizeof counts, expected, sizeof expected);

  gst_sample_unref (sample);
  gst_object_unref (sink);
  gst_object_unref (bus);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  g_print ("%d pixels are in the bins where they should be\n", kWidth * kHeight);
  return 0;
}
