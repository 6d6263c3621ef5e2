// SPDX-License-Identifier: LGPL-2.1-or-later
//
// cudaintegralhist gives the counts of the pixels, one by one, in frames of every format and
// stride, on the CPU and on CUDA. It passes frames on, and posts messages. settings.cpp tests the
// settings.
#include "alone.hpp"
#include "pipelines.hpp"
#include "test.hpp"

namespace {

/// Counts the pixels of a rectangle in a picture of this width.
std::vector<guint32> counted (const std::vector<guint8> &values, int width, int bins, int x, int y,
                              int w, int h)
{
  const Sums counts = count_pixels (values, width, GstVideoRectangle{ x, y, w, h }, bins);
  return { counts.begin (), counts.end () };
}

/// Compares some rectangles of the buffer's meta with counted pixels. RGB luma is allowed to differ
/// where the weighted sum is within one part in 65536 of a rounding edge, so RGB is compared with
/// the documented integer formula in `values`.
void check_counts (GstBuffer *buffer, const std::vector<guint8> &values, int bins)
{
  GstIntegralHistogramMeta *meta = gst_buffer_get_integral_histogram_meta (buffer);
  fail_unless (meta);
  const int width = int (gst_integral_histogram_get_width (meta->histogram)),
            height = int (gst_integral_histogram_get_height (meta->histogram));
  fail_unless_equals_int (int (values.size ()), width * height);
  fail_unless_equals_int (int (gst_integral_histogram_get_bins (meta->histogram)), bins);
  const GstVideoRectangle rectangles[] = { { 0, 0, width, height },
                                           { width / 3, height / 4, width / 2, height / 2 },
                                           { width - 1, height - 1, 1, 1 },
                                           { 1, 0, width - 1, 3 } };
  std::vector<guint32> counts (4 * bins);
  expect_answer (gst_integral_histogram_regions, meta->histogram, rectangles, 4, counts.data ());
  for (int i = 0; i < 4; i++) {
    const GstVideoRectangle &r = rectangles[i];
    const auto wanted = counted (values, width, bins, r.x, r.y, r.w, r.h);
    for (int b = 0; b < bins; b++)
      fail_unless (counts[i * bins + b] == wanted[b], "rectangle %d, bin %d: %u instead of %u", i,
                   b, counts[i * bins + b], wanted[b]);
  }
}

}  // namespace

BACKEND_TEST (formats)
{
  each_format ([backend] (const char *caps, GstBuffer *in, const std::vector<guint8> &values) {
    Harness h (std::string ("cudaintegralhist bins=17 backend=") + backend, caps);
    g_autoptr (GstBuffer) out = gst_harness_push_and_pull (h, in);
    check_counts (out, values, 17);
  });
}

BACKEND_TEST (strides)
{
  for (const char *format : { "GRAY8", "I420", "BGRx" }) {
    Harness h (std::string ("cudaintegralhist bins=5 backend=") + backend,
               caps_of (format, 61, 30));
    const GstVideoInfo info = padded_info (format, 61, 30);
    GstBuffer *in = padded_noise (info, 3);
    const auto values = luma (info, in, rounded_weight (0.2126), rounded_weight (0.0722));
    g_autoptr (GstBuffer) out = gst_harness_push_and_pull (h, in);
    check_counts (out, values, 5);
  }
}

/// All interesting numbers of bins and counters, and every element of the mapped tensor.
BACKEND_TEST (whole_tensor)
{
  for (const char *counter : { "u32", "u16" })
    for (int bins : { 1, 2, 32, 255, 256 }) {
      const GrayNoise frame (std::string ("cudaintegralhist bins=") + std::to_string (bins)
                                 + " counter=" + counter + " backend=" + backend,
                             45, 31, unsigned (bins));
      const TensorCopy tensor (frame.histogram);
      for (int y = 0; y < 31; y++)
        for (int x = 0; x < 45; x++) {
          const auto wanted = counted (frame.values, 45, bins, 0, 0, x + 1, y + 1);
          for (int b = 0; b < bins; b++)
            fail_unless (tensor.at (guint (b), x, y) == wanted[b],
                         "%s, bins %d: H[%d][%d][%d] is %u instead of %u", counter, bins, b, y, x,
                         tensor.at (guint (b), x, y), wanted[b]);
        }
    }
}

/// counter=u16-anchored is an alias of u16. No tensor has anchors.
BACKEND_TEST (anchored_counter)
{
  constexpr int kWidth = 700, kHeight = 500;
  const GrayNoise frame (std::string ("cudaintegralhist bins=2 counter=u16-anchored backend=")
                             + backend,
                         kWidth, kHeight, 7);
  GstIntegralHistogram *const histogram = frame.histogram;
  fail_unless_equals_int (gst_integral_histogram_get_counter (histogram),
                          GST_INTEGRAL_HISTOGRAM_COUNTER_U16);
  gsize offset = 1;
  guint row_step = 1, column_step = 1;
  fail_unless (!gst_integral_histogram_get_anchors (histogram, &offset, &row_step, &column_step));
  fail_unless (offset == 0 && row_step == 0 && column_step == 0);
  guint32 counts[2];
  fail_unless (
      gst_integral_histogram_region (histogram, 1, 1, kWidth - 2, kHeight - 2, counts, nullptr));
  const auto wanted = counted (frame.values, kWidth, 2, 1, 1, kWidth - 2, kHeight - 2);
  fail_unless (wanted[0] > 65536 && counts[0] == wanted[0] && counts[1] == wanted[1]);
}

/// Both elements; the loop's index is the backend's and the element's.
TEST_EACH (pass_through, 4)
{
  const char *backend = kBackends[__i__ % 2], *element = kElements[__i__ / 2];
  if (!have (backend))
    return;
  Harness h (std::string (element) + " backend=" + backend, caps_of ("GRAY8", 64, 48));
  const GstVideoInfo info = gray (64, 48);
  for (int i = 0; i < 20; i++) {
    GstBuffer *in = noise (info, unsigned (i));
    GST_BUFFER_PTS (in) = i * 40 * GST_MSECOND;
    GST_BUFFER_DTS (in) = i * 40 * GST_MSECOND + 1;
    GST_BUFFER_DURATION (in) = 40 * GST_MSECOND;
    GST_BUFFER_OFFSET (in) = guint64 (i);
    GST_BUFFER_FLAG_SET (in, GST_BUFFER_FLAG_MARKER);
    GstVideoRegionOfInterestMeta *roi =
        gst_buffer_add_video_region_of_interest_meta (in, "face", 1, 2, 3, 4);
    const std::vector<guint8> pixels = bytes_of (in);
    g_autoptr (GstBuffer) out = gst_harness_push_and_pull (h, in);
    fail_unless (out == in, "a writable buffer is not copied");
    fail_unless_equals_uint64 (GST_BUFFER_PTS (out), i * 40 * GST_MSECOND);
    fail_unless_equals_uint64 (GST_BUFFER_DTS (out), i * 40 * GST_MSECOND + 1);
    fail_unless_equals_uint64 (GST_BUFFER_DURATION (out), 40 * GST_MSECOND);
    fail_unless_equals_uint64 (GST_BUFFER_OFFSET (out), guint64 (i));
    fail_unless (GST_BUFFER_FLAG_IS_SET (out, GST_BUFFER_FLAG_MARKER));
    fail_unless (gst_buffer_get_video_region_of_interest_meta_id (out, roi->id) == roi);
    fail_unless (bytes_of (out) == pixels);
    fail_unless (gst_buffer_get_integral_histogram_meta (out));
  }
}

BACKEND_TEST (regions_are_clipped)
{
  const GrayNoise frame (std::string ("cudaintegralhist bins=4 backend=") + backend, 40, 30);
  GstIntegralHistogram *const histogram = frame.histogram;
  for (const auto &c : kClipped) {
    guint32 counts[4] = { 9, 9, 9, 9 };
    fail_unless (gst_integral_histogram_region (histogram, c.asked.x, c.asked.y, c.asked.w,
                                                c.asked.h, counts, nullptr));
    const auto wanted =
        counted (frame.values, 40, 4, c.clipped.x, c.clipped.y, c.clipped.w, c.clipped.h);
    fail_unless (std::equal (wanted.begin (), wanted.end (), counts), "%d,%d,%d,%d", c.asked.x,
                 c.asked.y, c.asked.w, c.asked.h);
  }
  fail_unless (gst_integral_histogram_regions (histogram, nullptr, 0, nullptr, nullptr));
}

/// Settings that are read at the start are refused later, whatever the caps do.
TEST (late_settings)
{
  Harness h ("cudaintegralhist name=hist bins=4 backend=cpu", caps_of ("GRAY8", 64, 48));
  g_autoptr (GstElement) element = gst_harness_find_element (h, "cudaintegralhist");
  for (int i = 0; i < 3; i++) {
    const int width = 64 + i;
    g_autofree char *caps =
        g_strdup_printf ("video/x-raw,format=GRAY8,width=%d,height=48,framerate=25/1", width);
    gst_harness_set_src_caps_str (h, caps);
    const GstVideoInfo info = gray (width, 48);
    GstBuffer *in = noise (info, unsigned (i));
    const auto values = luma (info, in, 0, 0);
    GstBuffer *out = gst_harness_push_and_pull (h, in);
    check_counts (out, values, 4);
    gst_buffer_unref (out);
    g_object_set (element, "bins", i ? 300 : 0, "async-depth", 0, nullptr);
    guint bins;
    g_object_get (element, "bins", &bins, nullptr);
    fail_unless_equals_int (bins, 4);
  }
}

/// Messages without a time segment have no times, and no criticals.
TEST (segment_in_bytes)
{
  Pipeline pipeline ("appsrc name=src format=bytes "
                     "caps=video/x-raw,format=GRAY8,width=64,height=48,framerate=25/1 ! "
                     "cudaintegralhist backend=cpu bins=2 regions=0,0,4,4 ! fakesink");
  g_autoptr (GstElement) src = pipeline.element ("src");
  pipeline.set_state (GST_STATE_PLAYING);
  GstFlowReturn flow;
  GstBuffer *buffer = even (gray (64, 48), 200);
  g_signal_emit_by_name (src, "push-buffer", buffer, &flow);
  gst_buffer_unref (buffer);
  g_signal_emit_by_name (src, "end-of-stream", &flow);
  g_autoptr (GstMessage) message = pipeline.message (GST_MESSAGE_ELEMENT);
  fail_unless (!gst_structure_has_field (gst_message_get_structure (message), "running-time"));
}

/// A sink's last sample holds the only tensor: the element waits, and says what it waits for.
TEST (says_what_it_waits_for)
{
  Pipeline pipeline ("videotestsrc num-buffers=3 ! cudaintegralhist backend=cpu max-tensors=1 ! "
                     "fakesink name=sink");
  pipeline.set_state (GST_STATE_PLAYING);
  g_autoptr (GstMessage) message = pipeline.message (GST_MESSAGE_WARNING | GST_MESSAGE_EOS);
  fail_unless (GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING);
  g_autoptr (GError) warning = nullptr;
  gst_message_parse_warning (message, &warning, nullptr);
  expect_parts (warning->message, { "max-tensors", "enable-last-sample" });
}

/// An application that is slower than the frames holds them up; they do not pile up in memory.
TEST (messages_do_not_pile_up)
{
  Pipeline pipeline ("videotestsrc num-buffers=60 ! video/x-raw,format=GRAY8,width=64,height=48 ! "
                     "cudaintegralhist name=hist backend=cpu async-depth=2 regions=0,0,4,4 ! "
                     "identity name=out ! fakesink");
  static int most, posted, passed;
  most = posted = passed = 0;
  gst_bus_set_sync_handler (
      pipeline.bus,
      [] (GstBus *, GstMessage *message, gpointer) {
        if (gst_message_has_name (message, "integral-histogram")) {
          g_usleep (5000);
          g_atomic_int_inc (&posted);
        }
        return GST_BUS_PASS;
      },
      nullptr, nullptr);
  g_autoptr (GstElement) out = pipeline.element ("out");
  g_signal_connect (out, "handoff", G_CALLBACK (+[] (GstElement *, GstBuffer *, gpointer) {
                      passed++;
                      most = MAX (most, passed - g_atomic_int_get (&posted));
                    }),
                    nullptr);
  pipeline.set_state (GST_STATE_PLAYING);
  pipeline.wait_for_eos ();
  fail_unless_equals_int (posted, 60);
  fail_unless (most <= 4, "%d frames ahead of their messages",
               most);  // two wait, one is being posted, one is on its way out
}

TEST (download_never)
{
  if (!have ("cuda"))
    return;
  for (const char *download : { "lazy", "eager", "never" }) {
    const GrayNoise frame (
        std::string ("cudaintegralhist bins=8 backend=cuda download=") + download, 64, 48);
    GstIntegralHistogram *const histogram = frame.histogram;
    check_counts (frame.buffer.get (), frame.values, 8);
    fail_unless (gst_integral_histogram_get_device_pointer (histogram)
                 && gst_integral_histogram_get_cuda_event (histogram)
                 && gst_integral_histogram_get_cuda_context (histogram));
    fail_unless_equals_int (gst_integral_histogram_get_cuda_device (histogram), 0);
    if (strcmp (download, "never") == 0) {
      g_autoptr (GError) error = nullptr;
      fail_unless (!gst_integral_histogram_get_buffer (histogram, &error)
                   && g_error_matches (error, GST_INTEGRAL_HISTOGRAM_ERROR,
                                       GST_INTEGRAL_HISTOGRAM_ERROR_NOT_DOWNLOADED));
    } else {
      fail_unless_equals_int (int (TensorCopy (histogram).at (0, 63, 47)),
                              int (counted (frame.values, 64, 8, 0, 0, 64, 48)[0]));
    }
  }
}
