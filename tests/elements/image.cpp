// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tables of cudaintegralimage hold the sums of pixels, and queries answer in 32 and in 64 bits.
// Both elements may work on one buffer.
#include "pipelines.hpp"
#include "tables.hpp"
#include "test.hpp"

BACKEND_TEST (formats)
{
  each_format ([backend] (const char *caps, GstBuffer *in, const std::vector<guint8> &values) {
    Harness h (std::string ("cudaintegralimage squared=true backend=") + backend, caps);
    g_autoptr (GstBuffer) out = gst_harness_push_and_pull (h, in);
    check_sums (caps, out, values, 2);
  });
}

BACKEND_TEST (test_pictures)
{
  for (const char *format : { "GRAY8", "I420", "NV12", "RGB", "BGRx" })
    for (const char *pattern : { "smpte", "snow", "white", "black" })
      for (const bool squared : { false, true }) {
        const std::string source = std::string ("videotestsrc num-buffers=1 pattern=") + pattern
                                   + " ! video/x-raw,width=320,height=240,format=" + format
                                   + (strstr ("RGB BGRx", format) ? "" : ",colorimetry=bt709");
        const Sample sample =
            sample_of (source + " ! cudaintegralimage backend=" + backend
                       + (squared ? " squared=true" : "") + " ! appsink name=sink sync=false");
        check_sums (source.c_str (), gst_sample_get_buffer (sample.get ()), luma_of (sample.get ()),
                    squared ? 2 : 1);
      }
}

/// Every strategy of the list that runs here gives the same sums; `auto` is one of them.
TEST (strategies)
{
  g_autoptr (GstElement) element = gst_element_factory_make ("cudaintegralimage", nullptr);
  GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (element), "strategy");
  GEnumClass *strategies = G_ENUM_CLASS (g_type_class_ref (spec->value_type));
  fail_unless (strategies->n_values > 1);
  const bool cuda = starts ("cuda");
  for (guint i = 0; i < strategies->n_values; i++) {
    if (!cuda && strstr (strategies->values[i].value_name, "CUDA:"))
      continue;
    const char *name = strategies->values[i].value_nick;
    const GrayNoise frame (std::string ("cudaintegralimage squared=true strategy=") + name, 101, 67,
                           i);
    check_sums (name, frame.buffer.get (), frame.values, 2);
  }
  g_type_class_unref (strategies);
}

/// Every element of the mapped tables, modulo 2^32.
BACKEND_TEST (whole_tables)
{
  const int width = 45, height = 31;
  const GrayNoise frame (std::string ("cudaintegralimage squared=true backend=") + backend, width,
                         height, 5);
  const TensorCopy copy (frame.histogram);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      const auto wanted = added (frame.values, width, { 0, 0, x + 1, y + 1 });
      for (guint p = 0; p < 2; p++)
        fail_unless (copy.at (p, x, y) == guint32 (wanted[p]), "plane %u, row %d, column %d", p, y,
                     x);
    }
}

/// 1920x1080 pixels of 255: the squares add up to 31 times 2^32. Exact in 64 bits; refused in 32,
/// by every query; and, as the documentation of the buffer says, exact in the mapped table for
/// small windows.
BACKEND_TEST (beyond_32_bits)
{
  constexpr int kWidth = 1920, kHeight = 1080;
  constexpr guint64 kArea = guint64 (kWidth) * kHeight;
  Harness h (std::string ("cudaintegralimage squared=true backend=") + backend,
             "video/x-raw,format=GRAY8,width=1920,height=1080,framerate=25/1");
  g_autoptr (GstBuffer) out = gst_harness_push_and_pull (h, even (gray (kWidth, kHeight), 255));
  GstIntegralHistogram *tables = tables_of (out);

  guint64 sums[2];
  fail_unless (gst_integral_histogram_region_sums (tables, 0, 0, kWidth, kHeight, sums, nullptr));
  fail_unless_equals_uint64 (sums[0], kArea * 255);
  fail_unless_equals_uint64 (sums[1], kArea * 65025);

  struct Case {
    GstVideoRectangle asked;
    guint64 pixels;
    bool fits;
  };
  for (const Case &c : { Case{ { 0, 0, kWidth, kHeight }, kArea, false },
                         Case{ { 1500, 700, 257, 257 }, 66049, true },
                         Case{ { 1500, 700, 259, 256 }, 66304, false },
                         Case{ { -3, 1, kWidth, 1 }, kWidth - 3, true } }) {
    guint32 narrow[2] = {};
    GError *error = nullptr;
    const bool answered = gst_integral_histogram_region (tables, c.asked.x, c.asked.y, c.asked.w,
                                                         c.asked.h, narrow, &error);
    fail_unless_equals_int (answered, c.fits);
    gsize n = 99;
    g_autofree guint32 *list = gst_integral_histogram_query_region (
        tables, c.asked.x, c.asked.y, c.asked.w, c.asked.h, &n, nullptr);
    g_autoptr (GBytes) bytes = gst_integral_histogram_query_regions (
        tables, reinterpret_cast<const gint *> (&c.asked), 4, nullptr);
    fail_unless (!!list == c.fits && !!bytes == c.fits && n == (c.fits ? 2u : 0u));
    if (c.fits) {
      fail_unless (narrow[0] == c.pixels * 255 && narrow[1] == c.pixels * 65025
                   && list[1] == narrow[1]);
    } else {
      fail_unless (g_error_matches (error, GST_INTEGRAL_HISTOGRAM_ERROR,
                                    GST_INTEGRAL_HISTOGRAM_ERROR_OVERFLOW));
      fail_unless (strstr (error->message, "gst_integral_histogram_region_sums"), "%s",
                   error->message);
    }
    g_clear_error (&error);
    g_autofree guint64 *wide = gst_integral_histogram_query_region_sums (
        tables, c.asked.x, c.asked.y, c.asked.w, c.asked.h, &n, nullptr);
    fail_unless (wide && n == 2 && wide[0] == c.pixels * 255 && wide[1] == c.pixels * 65025);
  }

  // four corners of 257x257 pixels, modulo 2^32
  const TensorCopy copy (tables);
  const auto squares = [&] (int x, int y) { return copy.at (1, x, y); };
  const guint32 window =
      squares (1756, 956) - squares (1499, 956) - squares (1756, 699) + squares (1499, 699);
  fail_unless_equals_uint64 (window, 66049u * 65025u);
}

BACKEND_TEST (regions_are_clipped)
{
  const GrayNoise frame (std::string ("cudaintegralimage squared=true backend=") + backend, 40, 30);
  GstIntegralHistogram *const tables = frame.histogram;
  for (const auto &c : kClipped) {
    guint64 sums[2] = { 9, 9 };
    guint32 narrow[2] = { 9, 9 };
    fail_unless (gst_integral_histogram_region_sums (tables, c.asked.x, c.asked.y, c.asked.w,
                                                     c.asked.h, sums, nullptr));
    fail_unless (gst_integral_histogram_region (tables, c.asked.x, c.asked.y, c.asked.w, c.asked.h,
                                                narrow, nullptr));
    const auto wanted = added (frame.values, 40, c.clipped);
    for (int p = 0; p < 2; p++)
      fail_unless (sums[p] == wanted[p] && narrow[p] == wanted[p], "%d,%d,%d,%d", c.asked.x,
                   c.asked.y, c.asked.w, c.asked.h);
  }
  fail_unless (gst_integral_histogram_regions_sums (tables, nullptr, 0, nullptr, nullptr));
}

/// `squared` is refused after the start.
TEST (late_squared)
{
  Harness h ("cudaintegralimage backend=cpu");
  g_autoptr (GstElement) element = gst_harness_find_element (h, "cudaintegralimage");
  for (int width : { 40, 41 }) {
    g_autofree char *caps =
        g_strdup_printf ("video/x-raw,format=GRAY8,width=%d,height=30,framerate=25/1", width);
    gst_harness_set_src_caps_str (h, caps);
    const GstVideoInfo info = gray (width, 30);
    GstBuffer *in = noise (info, unsigned (width));
    const auto values = luma (info, in, 0, 0);
    GstBuffer *out = gst_harness_push_and_pull (h, in);
    check_sums (caps, out, values, 1);
    gst_buffer_unref (out);
    g_object_set (element, "squared", TRUE, nullptr);
  }
}

/// Both elements on one buffer, in either order: two metas, told apart by their content, each
/// right; a scaler takes both along.
TEST (both_elements)
{
  const std::string elements[] = { "cudaintegralhist bins=16 counter=u16 backend=cpu",
                                   "cudaintegralimage squared=true backend=cpu" };
  for (const bool image_first : { false, true })
    for (const char *scaler : { "", " ! videoscale ! video/x-raw,width=160,height=120" }) {
      const std::string line = "videotestsrc num-buffers=1 pattern=snow ! "
                               "video/x-raw,format=GRAY8,width=320,height=240 ! "
                               + elements[image_first] + " ! " + elements[!image_first] + scaler
                               + " ! appsink name=sink sync=false";
      const Sample sample = sample_of (line);
      GstBuffer *buffer = gst_sample_get_buffer (sample.get ());
      GstIntegralHistogramMeta *bins = gst_buffer_get_integral_histogram_meta_of (buffer, kBins);
      GstIntegralHistogramMeta *sums = gst_buffer_get_integral_histogram_meta_of (buffer, kSums);
      fail_unless (bins && sums && bins != sums);
      fail_unless_equals_int (gst_integral_histogram_get_content (bins->histogram), kBins);
      fail_unless_equals_int (gst_integral_histogram_get_content (sums->histogram), kSums);
      fail_unless (gst_buffer_get_integral_histogram_meta (buffer) == bins,
                   "a histogram goes first");
      fail_unless_equals_int (gst_integral_histogram_get_bins (bins->histogram), 16);
      if (!*scaler)
        check_sums (line.c_str (), buffer, luma_of (sample.get ()), 2);

      // a quarter of the frame, in coordinates of the buffer, and in those of the frame that was
      // computed; counts in 64 bits are the same numbers
      const int width = int (sums->width), height = int (sums->height);
      guint64 wanted[2], wide[16];
      guint32 counts[16], total = 0;
      fail_unless (
          gst_integral_histogram_region_sums (sums->histogram, 80, 60, 160, 120, wanted, nullptr));
      fail_unless (
          gst_integral_histogram_region_sums (bins->histogram, 80, 60, 160, 120, wide, nullptr));
      fail_unless (
          gst_integral_histogram_region (bins->histogram, 80, 60, 160, 120, counts, nullptr));
      for (int b = 0; b < 16; b++) {
        fail_unless_equals_uint64 (wide[b], counts[b]);
        total += counts[b];
      }
      fail_unless_equals_int (int (total), 160 * 120);
      gsize n;
      g_autofree guint64 *scaled = gst_integral_histogram_meta_region_sums (
          sums, width / 4, height / 4, width / 2, height / 2, &n, nullptr);
      fail_unless (scaled && n == 2 && scaled[0] == wanted[0] && scaled[1] == wanted[1]);
    }
}

/// Both lookups, by content and without, find the tables of a buffer that has only tables, and
/// nothing on a buffer without metas.
TEST (lookups)
{
  struct Case {
    const char *element;
    bool bins, sums;
  };
  for (const Case &c : { Case{ "identity", false, false }, Case{ "cudaintegralhist", true, false },
                         Case{ "cudaintegralimage", false, true } }) {
    const Sample sample = sample_of (std::string ("videotestsrc num-buffers=1 ! ") + c.element
                                     + " ! appsink name=sink sync=false");
    GstBuffer *buffer = gst_sample_get_buffer (sample.get ());
    fail_unless_equals_int (gst_buffer_get_integral_histogram_meta_of (buffer, kBins) != nullptr,
                            c.bins);
    fail_unless_equals_int (gst_buffer_get_integral_histogram_meta_of (buffer, kSums) != nullptr,
                            c.sums);
    fail_unless_equals_int (gst_buffer_get_integral_histogram_meta (buffer) != nullptr,
                            c.bins || c.sums);
  }
}

TEST (queries_for_bindings)
{
  const Sample sample = sample_of (
      "videotestsrc num-buffers=1 pattern=white ! video/x-raw,format=GRAY8,width=320,height=240 ! "
      "cudaintegralimage backend=cpu ! appsink name=sink sync=false");
  GstIntegralHistogram *tables = tables_of (gst_sample_get_buffer (sample.get ()));
  const guint64 white = luma_of (sample.get ())[0];
  const gint eight[8] = { 0, 0, 320, 240, 10, 10, 5, 5 };
  g_autoptr (GError) error = nullptr;
  fail_unless (!gst_integral_histogram_query_regions_sums (tables, eight, 3, &error));
  fail_unless (g_error_matches (error, GST_INTEGRAL_HISTOGRAM_ERROR,
                                GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION)
               && strstr (error->message, "x, y, width, height"));
  g_autoptr (GBytes) bytes = gst_integral_histogram_query_regions_sums (tables, eight, 8, nullptr);
  fail_unless (bytes && g_bytes_get_size (bytes) == 2 * sizeof (guint64));
  const auto *sums = static_cast<const guint64 *> (g_bytes_get_data (bytes, nullptr));
  fail_unless (sums[0] == 320 * 240 * white && sums[1] == 25 * white);
  g_autoptr (GEnumClass) contents =
      G_ENUM_CLASS (g_type_class_ref (GST_TYPE_INTEGRAL_HISTOGRAM_CONTENT));
  fail_unless_equals_string (g_enum_get_value (contents, kBins)->value_nick, "bins");
  fail_unless_equals_string (g_enum_get_value (contents, kSums)->value_nick, "sums");
}
