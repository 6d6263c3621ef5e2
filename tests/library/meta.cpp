// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The meta goes through real elements: some keep it, some scale it, some must drop it. The
// histogram outlives the pipeline, and copies share it.
#include <cmath>
#include <string>
#include <vector>

#include <gst/integralhist/gstintegralhist.h>

#include "pipelines.hpp"
#include "test.hpp"

namespace {

std::string line (const char *behind)
{
  return std::string ("videotestsrc num-buffers=3 pattern=smpte ! "
                      "video/x-raw,format=I420,width=320,height=240,pixel-aspect-ratio=1/1 ! "
                      "cudaintegralhist bins=8 backend=cpu ! ")
         + behind + " ! appsink name=sink sync=false";
}

/// Asks the histogram of an unchanged frame of line () about a rectangle.
std::vector<guint32> original (int x, int y, int w, int h)
{
  const Sample sample = sample_of (line ("identity"));
  std::vector<guint32> counts (8);
  GstIntegralHistogramMeta *meta =
      gst_buffer_get_integral_histogram_meta (gst_sample_get_buffer (sample.get ()));
  fail_unless (
      gst_integral_histogram_region (meta->histogram, x, y, w, h, counts.data (), nullptr));
  return counts;
}

void check_meta (GstBuffer *buffer, const char *what, guint width, guint height)
{
  GstIntegralHistogramMeta *meta = gst_buffer_get_integral_histogram_meta (buffer);
  fail_unless (meta, "%s: no meta", what);
  fail_unless (meta->width == width && meta->height == height, "%s: %ux%u", what, meta->width,
               meta->height);
  fail_unless_equals_int (gst_integral_histogram_get_width (meta->histogram), 320);
  // the middle of the frame, in coordinates of the changed frame
  gsize n;
  guint32 *counts = gst_integral_histogram_meta_region (
      meta, int (width / 4), int (height / 4), int (width / 2), int (height / 2), &n, nullptr);
  fail_unless (counts && n == 8, "%s", what);
  const auto wanted = original (80, 60, 160, 120);
  for (int b = 0; b < 8; b++)
    fail_unless (counts[b] == wanted[b], "%s, bin %d: %u instead of %u", what, b, counts[b],
                 wanted[b]);
  g_free (counts);
}

}  // namespace

TEST (kept)
{
  for (const char *behind :
       { "queue", "tee ! queue", "videoconvert ! video/x-raw,format=RGB",
         "videoconvert ! video/x-raw,format=NV12", "identity", "videorate",
         "videobalance brightness=0.1", "queue ! tee name=t ! queue ! identity" }) {
    const Sample sample = sample_of (line (behind));
    check_meta (gst_sample_get_buffer (sample.get ()), behind, 320, 240);
  }
}

TEST (follows_scaling)
{
  struct Case {
    const char *behind;
    guint width, height;
  };
  for (const Case &c :
       { Case{ "videoscale ! video/x-raw,width=160,height=120", 160, 120 },
         Case{ "videoscale ! video/x-raw,width=640,height=480", 640, 480 },
         Case{ "videoscale ! video/x-raw,width=160,height=120 ! videoscale ! "
               "video/x-raw,width=80,height=60",
               80, 60 },
         Case{ "videoscale ! video/x-raw,width=160,height=120 ! videoconvert ! "
               "video/x-raw,format=RGB",
               160, 120 },
         // the frame's shape changes, but the shape of the pixels too, so there are no borders
         Case{ "videoscale ! video/x-raw,width=160,height=240,pixel-aspect-ratio=2/1", 160,
               240 } }) {
    const Sample sample = sample_of (line (c.behind));
    check_meta (gst_sample_get_buffer (sample.get ()), c.behind, c.width, c.height);
  }
}

/// Elements before GStreamer 1.28 do not say what they did; those of tests/elements/follows.cpp do.
TEST (dropped)
{
#if GST_CHECK_VERSION(1, 28, 0)
  g_print ("SKIP: elements of GStreamer 1.28 say where the picture is; follows looks at them\n");
  return;
#endif
  for (const char *behind :
       { "videocrop left=10", "videoflip video-direction=horiz", "videoflip video-direction=90r",
         "videobox border-alpha=0 left=-10",
         // a letterbox: the scaler adds borders and does not say where they are
         "videoscale ! video/x-raw,width=320,height=120,pixel-aspect-ratio=1/1" }) {
    const Sample sample = sample_of (line (behind));
    fail_unless (!gst_buffer_get_integral_histogram_meta (gst_sample_get_buffer (sample.get ())),
                 "%s", behind);
  }
}

/// sample_of () has stopped and dropped the pipeline, and the histogram still answers.
TEST (outlives_the_pipeline)
{
  for (const char *properties : { "backend=cpu", "backend=auto", "backend=auto download=eager" }) {
    Sample sample = sample_of (std::string ("videotestsrc num-buffers=3 pattern=snow ! "
                                            "video/x-raw,format=GRAY8,width=64,height=48 ! "
                                            "cudaintegralhist bins=2 ")
                               + properties + " ! appsink name=sink sync=false");
    GstBuffer *buffer = gst_sample_get_buffer (sample.get ());
    GstIntegralHistogram *histogram = gst_integral_histogram_ref (histogram_of (buffer));
    guint32 wanted[2] = {}, counts[2];
    for (const guint8 value : bytes_of (buffer))
      wanted[value / 128]++;
    sample.reset ();
    fail_unless (gst_integral_histogram_region (histogram, 0, 0, 64, 48, counts, nullptr));
    fail_unless (counts[0] == wanted[0] && counts[1] == wanted[1]);
    // the whole tensor does too, and keeps the histogram alive
    g_autoptr (GstBuffer) tensor = gst_integral_histogram_get_buffer (histogram, nullptr);
    const gsize last = 47 * gst_integral_histogram_get_row_pitch (histogram) + 63 * 4;
    gst_integral_histogram_unref (histogram);
    const auto bytes = bytes_of (tensor);
    fail_unless_equals_int (int (*reinterpret_cast<const guint32 *> (&bytes[last])),
                            int (wanted[0]));
  }
}

TEST (two_producers)
{
  const Sample sample =
      sample_of ("videotestsrc num-buffers=3 ! video/x-raw,format=GRAY8,width=64,height=48 ! "
                 "cudaintegralhist bins=4 ! "
                 "cudaintegralhist bins=9 counter=u16 ! appsink name=sink sync=false");
  std::vector<guint> bins;
  for (const auto *meta : histograms_of (gst_sample_get_buffer (sample.get ()))) {
    GstIntegralHistogram *const histogram = meta->histogram;
    bins.push_back (gst_integral_histogram_get_bins (histogram));
    guint32 counts[9] = {}, sum = 0;
    fail_unless (gst_integral_histogram_region (histogram, 3, 4, 20, 30, counts, nullptr));
    for (guint32 count : counts)
      sum += count;
    fail_unless_equals_int (int (sum), 600);
  }
  fail_unless (bins == std::vector<guint> ({ 4, 9 }));
}

TEST (copies_share)
{
  Sample sample = sample_of (line ("identity"));
  GstBuffer *buffer = gst_sample_get_buffer (sample.get ());
  GstBuffer *copy = gst_buffer_copy (buffer), *deep = gst_buffer_copy_deep (buffer);
  GstIntegralHistogram *histogram = histogram_of (buffer);
  fail_unless (histogram_of (copy) == histogram);
  fail_unless (histogram_of (deep) == histogram);
  // a part of the bytes is not a frame
  GstBuffer *part = gst_buffer_copy_region (buffer, GST_BUFFER_COPY_ALL, 0, 320);
  fail_unless (!gst_buffer_get_integral_histogram_meta (part));
  gst_buffer_unref (part);
  sample.reset ();
  gst_buffer_unref (copy);
  guint32 counts[8];
  fail_unless (
      gst_integral_histogram_region (histogram_of (deep), 0, 0, 320, 240, counts, nullptr));
  gst_buffer_unref (deep);
}

/// Both branches of a tee see one tensor.
TEST (tee_shares)
{
  g_autoptr (GstElement) pipeline =
      gst_parse_launch ("videotestsrc num-buffers=1 ! cudaintegralhist ! tee "
                        "name=t  t. ! queue ! appsink name=a sync=false  "
                        "t. ! queue ! appsink name=b sync=false",
                        nullptr);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  GstIntegralHistogram *seen[2];
  GstSample *samples[2];
  for (int i = 0; i < 2; i++) {
    g_autoptr (GstElement) sink = gst_bin_get_by_name (GST_BIN (pipeline), i ? "b" : "a");
    samples[i] = gst_app_sink_try_pull_sample (GST_APP_SINK (sink), 20 * GST_SECOND);
    fail_unless (samples[i]);
    seen[i] = histogram_of (gst_sample_get_buffer (samples[i]));
  }
  fail_unless (seen[0] == seen[1]);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_sample_unref (samples[0]);
  gst_sample_unref (samples[1]);
}

TEST (errors_of_queries)
{
  const Sample sample = sample_of (line ("identity"));
  GstIntegralHistogram *histogram = histogram_of (gst_sample_get_buffer (sample.get ()));
  const gint three[3] = { 1, 2, 3 };
  GError *error = nullptr;
  fail_unless (!gst_integral_histogram_query_regions (histogram, three, 3, &error));
  fail_unless (g_error_matches (error, GST_INTEGRAL_HISTOGRAM_ERROR,
                                GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION)
               && strstr (error->message, "x, y, width, height"));
  fail_unless_equals_string (g_quark_to_string (error->domain),
                             "gst-integral-histogram-error-quark");
  g_clear_error (&error);
  const gint eight[8] = { 0, 0, 320, 240, 10, 10, 5, 5 };
  GBytes *bytes = gst_integral_histogram_query_regions (histogram, eight, 8, &error);
  fail_unless (bytes && g_bytes_get_size (bytes) == 2 * 8 * sizeof (guint32));
  guint32 sum = 0;
  for (int i = 0; i < 16; i++)
    sum += static_cast<const guint32 *> (g_bytes_get_data (bytes, nullptr))[i];
  fail_unless_equals_int (int (sum), 320 * 240 + 25);
  g_bytes_unref (bytes);
}
