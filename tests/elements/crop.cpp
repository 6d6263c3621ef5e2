// SPDX-License-Identifier: LGPL-2.1-or-later
//
// With a GstVideoCropMeta every element takes the visible part of the picture as the frame. The
// truth is counted pixel by pixel, or comes from the element and a frame of only these pixels.
#include <algorithm>

#include "alone.hpp"
#include "drawn.hpp"
#include "pixel_sums.hpp"
#include "test.hpp"

namespace {

constexpr int kWidth = 61, kHeight = 43;

/// Asks the buffer's tensor about a rectangle.
std::vector<guint64> said (GstBuffer *buffer, const GstVideoRectangle &r)
{
  const GstIntegralHistogramMeta *const meta = gst_buffer_get_integral_histogram_meta (buffer);
  fail_unless (meta != nullptr);
  std::vector<guint64> sums (gst_integral_histogram_get_bins (meta->histogram));
  expect_answer (gst_integral_histogram_regions_sums, meta->histogram, &r, 1, sums.data ());
  return sums;
}

void expect_size (GstBuffer *buffer, int width, int height)
{
  const GstIntegralHistogramMeta *const meta = gst_buffer_get_integral_histogram_meta (buffer);
  fail_unless (meta != nullptr);
  fail_unless_equals_int (int (gst_integral_histogram_get_width (meta->histogram)), width);
  fail_unless_equals_int (int (gst_integral_histogram_get_height (meta->histogram)), height);
  fail_unless_equals_int (meta->width, width);
  fail_unless_equals_int (meta->height, height);
}

/// Calls `row (in the picture, in the part, bytes)` for each row of each plane of the part.
template <class Row>
void each_row (const GstVideoInfo &picture, const GstVideoRectangle &r, const GstVideoInfo &part,
               Row &&row)
{
  const GstVideoFormatInfo *const format = picture.finfo;
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (&picture); p++) {
    guint c = 0;
    while (GST_VIDEO_FORMAT_INFO_PLANE (format, c) != p)
      c++;
    const int bytes = GST_VIDEO_FORMAT_INFO_PSTRIDE (format, c),
              across = GST_VIDEO_FORMAT_INFO_W_SUB (format, c),
              down = GST_VIDEO_FORMAT_INFO_H_SUB (format, c);
    for (int y = 0; y < GST_VIDEO_SUB_SCALE (down, r.h); y++)
      row (picture.offset[p]
               + gsize (((r.y >> down) + y) * picture.stride[p] + (r.x >> across) * bytes),
           part.offset[p] + gsize (y * part.stride[p]),
           gsize (GST_VIDEO_SUB_SCALE (across, r.w) * bytes));
  }
}

/// The visible part as a frame of its own. In formats with subsampled chroma it must begin at even
/// pixels.
GstBuffer *cut (const std::vector<guint8> &bytes, const GstVideoInfo &picture,
                const GstVideoRectangle &r, const GstVideoInfo &part)
{
  std::vector<guint8> cut (part.size);
  each_row (picture, r, part,
            [&] (gsize from, gsize to, gsize n) { memcpy (&cut[to], &bytes[from], n); });
  GstBuffer *const buffer = gst_buffer_new_allocate (nullptr, part.size, nullptr);
  gst_buffer_fill (buffer, 0, cut.data (), cut.size ());
  return buffer;
}

const GstVideoRectangle kParts[] = { { 0, 0, kWidth, kHeight },
                                     { 0, 16, kWidth, kHeight - 16 },
                                     { 7, 5, 31, 22 },
                                     { 1, 1, 1, 1 },
                                     { kWidth - 1, kHeight - 1, 1, 1 } };

}  // namespace

/// Noise in pictures that are larger than their caps, with the visible part at odd places, for both
/// producers.
BACKEND_TEST (counts)
{
  for (const char *format : { "GRAY8", "GRAY16_LE", "I420", "NV12", "YUY2", "UYVY", "RGB", "BGRx" })
    for (const GstVideoRectangle &part : kParts) {
      const GstVideoInfo info = padded_info (format, kWidth, kHeight);
      const GstVideoRectangle all = { 0, 0, part.w, part.h };
      for (const char *element :
           { "cudaintegralhist bins=17 tuning-time=0", "cudaintegralimage tuning-time=0",
             "cudaintegralhist bins=17 cuda-device-ids=0 task-bins=5" }) {
        Alone alone (std::string (element) + " backend=" + backend,
                     caps_of (format, part.w, part.h));
        GstBuffer *const in = padded_noise (info, 3);
        const auto values = luma (info, in, rounded_weight (0.2126), rounded_weight (0.0722));
        crop (in, part);
        g_autoptr (GstBuffer) out = alone.pass (in);
        expect_size (out, part.w, part.h);
        const auto wanted = [&] (const GstVideoRectangle &r) {
          const GstVideoRectangle there = { part.x + r.x, part.y + r.y, r.w, r.h };
          return strstr (element, "image") ? add_pixels (values, kWidth, there, 1)
                                           : count_pixels (values, kWidth, there, 17);
        };
        fail_unless (said (out, all) == wanted (all), "%s of %s at %d,%d", element, format, part.x,
                     part.y);
        const GstVideoRectangle some = { part.w / 3, part.h / 4, (part.w + 1) / 2,
                                         (part.h + 1) / 2 };
        fail_unless (said (out, some) == wanted (some), "%s of %s at %d,%d, some of it", element,
                     format, part.x, part.y);
      }
    }
}

/// The tensor has the size of each frame's visible part, whatever the caps say.
BACKEND_TEST (changes)
{
  const GstVideoInfo info = padded_info ("GRAY8", 64, 48);
  Alone alone (std::string ("cudaintegralhist bins=8 tuning-time=0 backend=") + backend,
               caps_of ("GRAY8", 20, 10));
  const auto set_regions = [&] (const char *text) {
    g_autoptr (GstElement) element = gst_harness_find_element (alone.get (), "cudaintegralhist");
    g_object_set (element, "regions", text, nullptr);
  };
  std::vector<GstBuffer *> kept;
  std::vector<std::vector<guint64>> truth;
  const GstVideoRectangle parts[] = { { 3, 5, 20, 10 }, { 4, 5, 20, 10 }, { 0, 0, 64, 48 },
                                      { 63, 0, 1, 48 }, { 9, 9, 20, 10 }, { 0, 0, 20, 10 },
                                      { 11, 7, 30, 40 } };
  for (int i = 0; i < 21; i++) {
    const GstVideoRectangle &part = parts[i % 7];
    GstBuffer *const in = padded_noise (info, unsigned (i));
    const auto values = luma (info, in, 0, 0);
    if (i != 5)  // there the caps say the same, from the upper left corner on
      crop (in, part);
    // a region must have pixels of the frame, and is clipped to it
    set_regions (part.w > 1 ? "1,2,300,300" : "");
    GstBuffer *const out = alone.pass (in);
    expect_size (out, part.w, part.h);
    truth.push_back (count_pixels (values, 64, part, 8));
    kept.push_back (out);
    if (part.w == 1)
      continue;
    GstMessage *message = nullptr;
    for (int ms = 0; !message && ms < 20000; ms++) {
      message = alone.message (GST_MESSAGE_ELEMENT);
      if (!message)
        g_usleep (1000);
    }
    fail_unless (message != nullptr, "frame %d: no message", i);
    const GValue *const counts = gst_value_array_get_value (
        gst_structure_get_value (gst_message_get_structure (message), "counts"), 0);
    const auto wanted = count_pixels (
        values, 64, GstVideoRectangle{ part.x + 1, part.y + 2, part.w - 1, part.h - 2 }, 8);
    for (guint b = 0; b < 8; b++)
      fail_unless_equals_int (g_value_get_uint (gst_value_array_get_value (counts, b)),
                              int (wanted[b]));
    gst_message_unref (message);
  }
  for (gsize i = 0; i < kept.size (); i++) {
    fail_unless (said (kept[i], { 0, 0, 999, 999 }) == truth[i], "frame %zu", i);
    gst_buffer_unref (kept[i]);
  }
  // a region that is not in the visible part
  set_regions ("1,2,9,9");
  GstBuffer *const in = padded_noise (info, 1);
  crop (in, 63, 0, 1, 48);
  expect_parts (alone.refusal (in, "no pixel", GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS),
                { "outside of the 1x48 frame" });
}

/// videocrop adds only the meta if the sink takes it, which fakesink does not.
BACKEND_TEST (sinks)
{
  std::vector<guint64> counts[2];
  for (const bool takes_it : { false, true }) {
    const std::string line = std::string ("videotestsrc num-buffers=3 pattern=gradient ! "
                                          "video/x-raw,format=GRAY8,width=64,height=64 ! "
                                          "videocrop top=48 left=3 right=2 ! cudaintegralhist "
                                          "name=hist tuning-time=0 bins=8 backend=")
                             + backend + " ! " + (takes_it ? "fakevideosink" : "fakesink");
    g_autoptr (GError) error = nullptr;
    g_autoptr (GstElement) pipeline = gst_parse_launch (line.c_str (), &error);
    fail_unless (pipeline && !error, "%s", error ? error->message : "");
    g_autoptr (GstElement) hist = gst_bin_get_by_name (GST_BIN (pipeline), "hist");
    g_autoptr (GstPad) pad = gst_element_get_static_pad (hist, "src");
    GstBuffer *seen = nullptr;
    gst_pad_add_probe (
        pad, GST_PAD_PROBE_TYPE_BUFFER,
        [] (GstPad *, GstPadProbeInfo *info, gpointer data) {
          gst_buffer_replace (static_cast<GstBuffer **> (data), GST_PAD_PROBE_INFO_BUFFER (info));
          return GST_PAD_PROBE_OK;
        },
        &seen, nullptr);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
    g_autoptr (GstMessage) end = gst_bus_timed_pop_filtered (
        bus, 30 * GST_SECOND, GstMessageType (GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    fail_unless (end && GST_MESSAGE_TYPE (end) == GST_MESSAGE_EOS);
    fail_unless (seen && (gst_buffer_get_video_crop_meta (seen) != nullptr) == takes_it,
                 "the test says nothing");
    expect_size (seen, 59, 16);
    counts[takes_it] = said (seen, { 0, 0, 59, 16 });
    // the picture itself: whichever way it is cropped
    GstVideoInfo info;
    g_autoptr (GstCaps) caps = gst_pad_get_current_caps (pad);
    fail_unless (gst_video_info_from_caps (&info, caps));
    const GstVideoMeta *const meta = gst_buffer_get_video_meta (seen);
    if (takes_it)
      gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, meta->width, meta->height);
    const GstVideoRectangle part =
        takes_it ? GstVideoRectangle{ 3, 48, 59, 16 } : GstVideoRectangle{ 0, 0, 59, 16 };
    fail_unless (counts[takes_it] == count_pixels (luma (info, seen, 0, 0), info.width, part, 8));
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_clear_buffer (&seen);
  }
  fail_unless (counts[0] == counts[1]);
}

/// The overlay draws only on the visible part, as if that were the frame.
TEST (overlay)
{
  if (!there_is ("integralhistoverlay", "crop"))
    return;
  for (const char *format : { "GRAY8", "RGB", "BGRx", "GRAY16_LE", "I420", "NV12", "YUY2" })
    for (const char *properties : { "regions=4,2,20,10", "regions=-9,-9,30,20;30,12,500,500",
                                    "line-width=0 labels=true regions=0,0,40,30" }) {
      const bool whole = GST_VIDEO_FORMAT_INFO_W_SUB (
                             gst_video_format_get_info (gst_video_format_from_string (format)), 1)
                             == 0
                         || strncmp (format, "GRAY", 4) == 0;
      const GstVideoRectangle part =
          whole ? GstVideoRectangle{ 17, 9, 41, 31 } : GstVideoRectangle{ 16, 10, 42, 30 };
      const GstVideoInfo picture = padded_info (format, 80, 64);
      const std::string line = std::string ("integralhistoverlay histograms=true trail=3 ")
                               + properties,
                        caps = caps_of (format, part.w, part.h);
      const GstVideoInfo tight = info_of (caps);
      Alone cropped (line, caps), plain (line, caps);
      for (int frame = 0; frame < 3; frame++) {
        GstBuffer *in = padded_noise (picture, unsigned (frame));
        const auto before = bytes_of (in);
        crop (in, part);
        GstBuffer *wanted = cut (before, picture, part, tight);
        for (GstBuffer *buffer : { in, wanted }) {
          add_roi (buffer, "track", 3, { 5 + frame, 6, 9, 8 });
          // a box in the picture, but not in the visible part
          add_roi (buffer, "track", 4, { part.w + 1, 0, 5, 5 });
          add_roi (buffer, "face", 5, { -20, -20, 19, 19 });
        }
        g_autoptr (GstBuffer) out = cropped.pass (in);
        fail_unless (gst_buffer_get_video_crop_meta (out) != nullptr);
        wanted = plain.pass (wanted);
        auto after = bytes_of (out);
        const auto drawn = bytes_of (wanted);
        gsize drawn_bytes = 0;
        each_row (picture, part, tight, [&] (gsize there, gsize here, gsize n) {
          fail_unless (memcmp (&after[there], &drawn[here], n) == 0,
                       "%s, %s: the visible part differs", format, properties);
          drawn_bytes += memcmp (&after[there], &before[there], n) != 0;
          memcpy (&after[there], &before[there], n);
        });
        fail_unless (drawn_bytes > 0, "nothing is drawn");
        fail_unless (after == before, "%s, %s: drawn on what is not visible", format, properties);
        gst_buffer_unref (wanted);
      }
    }
  // at odd places of a picture with subsampled chroma, luma is still exact
  const GstVideoRectangle part = { 17, 9, 41, 31 };
  const GstVideoInfo picture = padded_info ("I420", 80, 64);
  Alone cropped ("integralhistoverlay labels=false regions=4,2,20,10",
                 caps_of ("I420", part.w, part.h));
  GstBuffer *const in = padded_noise (picture, 1);
  const auto before = luma (picture, in, 0, 0);
  crop (in, part);
  g_autoptr (GstBuffer) out = cropped.pass (in);
  const auto after = luma (picture, out, 0, 0);
  int drawn = 0;
  for (int y = 0; y < 64; y++)
    for (int x = 0; x < 80; x++) {
      const bool changed = before[gsize (y * 80 + x)] != after[gsize (y * 80 + x)];
      // the seam is a pixel wide
      const bool may = x >= part.x + 3 && x < part.x + 25 && y >= part.y + 1 && y < part.y + 13;
      if (changed && !may)
        fail ("%d,%d has changed", x, y);
      drawn += changed;
    }
  fail_unless (drawn > 50, "%d pixels are drawn", drawn);
}

/// Targets are placed, and found, in pixels of the visible part.
TEST (tracks)
{
  const GstVideoInfo picture = padded_info ("GRAY8", 160, 120);
  const GstVideoRectangle part = { 31, 17, 101, 85 };
  const std::string caps = caps_of ("GRAY8", part.w, part.h),
                    line = "cudaintegralhist backend=cpu bins=16 tuning-time=0 ! "
                           "integralhisttrack method=fragments targets=20,30,24,20";
  const GstVideoInfo tight = info_of (caps);
  Alone cropped (line, caps), plain (line, caps);
  g_autoptr (GstBuffer) background = padded_noise (picture, 9);
  const auto still = bytes_of (background);
  for (int frame = 0; frame < 12; frame++) {
    // a target that moves by two pixels to the right and one down
    auto bytes = still;
    std::mt19937 random (5);
    for (int y = 0; y < 20; y++)
      for (int x = 0; x < 24; x++)
        bytes[picture.offset[0]
              + gsize ((part.y + 30 + frame + y) * picture.stride[0] + part.x + 20 + 2 * frame
                       + x)] = guint8 (200 + random () % 56);
    GstBuffer *const in = gst_buffer_copy_deep (background);
    gst_buffer_fill (in, 0, bytes.data (), bytes.size ());
    crop (in, part);
    std::string texts[2];
    for (Alone *const alone : { &cropped, &plain }) {
      gst_buffer_unref (alone->pass (alone == &cropped ? in : cut (bytes, picture, part, tight)));
      g_autoptr (GstMessage) message = alone->message (GST_MESSAGE_ELEMENT);
      fail_unless (message && gst_message_has_name (message, "integral-histogram-track"));
      const GValue *const tracks =
          gst_structure_get_value (gst_message_get_structure (message), "tracks");
      fail_unless_equals_int (gst_value_array_get_size (tracks), 1);
      const GstStructure *const track =
          gst_value_get_structure (gst_value_array_get_value (tracks, 0));
      int x, y;
      fail_unless (gst_structure_get (track, "x", G_TYPE_INT, &x, "y", G_TYPE_INT, &y, nullptr));
      fail_unless (std::abs (x - 20 - 2 * frame) <= 1 && std::abs (y - 30 - frame) <= 1,
                   "frame %d: at %d,%d", frame, x, y);
      g_autofree char *text = gst_value_serialize (tracks);
      texts[alone == &plain] = text;
    }
    fail_unless (texts[0] == texts[1], "%s instead of %s", texts[0].c_str (), texts[1].c_str ());
  }
}

/// The picture shows the visible part, and needs no crop meta of its own.
TEST (likelihoods)
{
  for (const char *mode : { "gray", "heat", "blend" })
    for (const char *format : { "GRAY8", "BGRx", "I420", "YUY2" }) {
      const GstVideoInfo picture = padded_info (format, 96, 80);
      // both have the caps' size, and the picture is converted from another place
      const GstVideoRectangle parts[] = { { 22, 10, 48, 36 }, { 40, 42, 48, 36 } };
      const std::string caps = caps_of (format, 48, 36),
                        line = std::string ("cudaintegralhist backend=cpu bins=8 tuning-time=0 ! "
                                            "integralhistlikelihood mode=")
                               + mode;
      const GstVideoInfo tight = info_of (caps);
      Alone cropped (line, caps), plain (line, caps);
      for (int frame = 0; frame < 4; frame++) {
        const GstVideoRectangle &part = parts[frame / 2];
        GstBuffer *const in = padded_noise (picture, unsigned (frame));
        if (g_str_equal (format, "I420"))  // chroma is interpolated over the border
          gst_buffer_memset (in, picture.offset[1], 90, picture.size - picture.offset[1]);
        const auto bytes = bytes_of (in);
        crop (in, part);
        add_roi (in, "face", 1, { 1, 2, 3, 4 });
        g_autoptr (GstBuffer) out = cropped.pass (in);
        g_autoptr (GstBuffer) wanted = plain.pass (cut (bytes, picture, part, tight));
        fail_unless (!gst_buffer_get_video_crop_meta (out));
        fail_unless (gst_buffer_get_integral_histogram_meta (out) != nullptr);
        const auto *const roi = reinterpret_cast<GstVideoRegionOfInterestMeta *> (
            gst_buffer_get_meta (out, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE));
        fail_unless (roi && roi->x == 1 && roi->y == 2);
        const auto is = bytes_of (out), should_be = bytes_of (wanted);
        fail_unless_equals_int (is.size (), should_be.size ());
        const int most = g_str_equal (format, "I420") ? 2 : 0;  // another of the converter's ways
        for (gsize i = 0; i < is.size (); i++)
          if (std::abs (is[i] - should_be[i]) > most)
            fail ("%s of %s, frame %d, byte %zu: %d instead of %d", mode, format, frame, i, is[i],
                  should_be[i]);
      }
    }
}

/// A crop must lie in the picture.
TEST (outside)
{
  struct Bad {
    guint x, y, width, height;
  };
  const GstVideoInfo picture = padded_info ("GRAY8", 64, 48);
  const std::string caps = caps_of ("GRAY8", 20, 10);
  Alone counts ("cudaintegralhist backend=cpu bins=8 tuning-time=0", caps);
  g_autoptr (GstBuffer) with_histogram = counts.pass (padded_noise (picture, 1));
  for (const char *line :
       { "cudaintegralhist backend=cpu tuning-time=0",
         "cudaintegralimage backend=cpu tuning-time=0",
         "cudaintegralhist backend=cpu cuda-device-ids=0,1", "integralhistoverlay regions=0,0,9,9",
         "integralhistoverlay", "integralhistlikelihood mode=gray",
         "integralhistlikelihood mode=blend", "integralhistlikelihood mode=heat" }) {
    if (!there_is (line, "crop"))
      continue;
    for (const Bad &bad :
         { Bad{ 45, 0, 20, 10 }, Bad{ 0, 39, 20, 10 }, Bad{ 64, 0, 1, 1 }, Bad{ 0, 48, 1, 1 },
           Bad{ 0, 0, 0, 10 }, Bad{ 0, 0, 20, 0 }, Bad{ 0, 0, 65, 48 }, Bad{ 0, 0, 64, 49 },
           Bad{ G_MAXUINT, 0, 20, 10 }, Bad{ G_MAXUINT - 9, 0, 20, 10 },
           Bad{ 0, G_MAXUINT - 4, 20, 10 }, Bad{ 1, 1, G_MAXUINT, 10 }, Bad{ 0, 1, 20, G_MAXUINT },
           Bad{ 1u << 31, 1u << 31, 1u << 31, 1u << 31 } }) {
      Alone alone (line, caps);
      GstBuffer *const in = gst_buffer_copy_deep (with_histogram);
      crop (in, bad.x, bad.y, bad.width, bad.height);
      expect_parts (alone.refusal (in, line), { "GstVideoCropMeta", "64x48" }, line);
    }
  }
}
