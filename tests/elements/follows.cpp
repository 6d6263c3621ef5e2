// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Real elements crop, mirror, turn, enlarge and border frames behind cudaintegralhist. From
// GStreamer 1.28 on these elements say what they did, and the meta follows: a rectangle of the
// changed frame has the counts of its pixels. The truth is counted in the pixels of the changed
// frame, or in the original if a scaler computed new pixels.
// Elements of earlier releases do not say what they did, so the meta is dropped.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include <gst/integralhist/gstintegralhist.h>

#include "alone.hpp"
#include "pipelines.hpp"
#include "test.hpp"

namespace {

constexpr int kWidth = 160, kHeight = 120, kBins = 16;

struct Case {
  const char *behind;
  int width, height;          // of the frame then
  GstVideoRectangle picture;  // where it shows the original's pixels
  int enlarged = 1;           // how often it shows each pixel, across and down
  int x = 0, y = 0;           // the first pixel that is shown, if pixels are enlarged
};

const Case kCases[] = {
  { "videocrop left=10 top=7 right=3 bottom=5", 147, 108, { 0, 0, 147, 108 } },
  { "videoflip video-direction=horiz", 160, 120, { 0, 0, 160, 120 } },
  { "videoflip video-direction=vert", 160, 120, { 0, 0, 160, 120 } },
  { "videoflip video-direction=180", 160, 120, { 0, 0, 160, 120 } },
  { "videoflip video-direction=90r", 120, 160, { 0, 0, 120, 160 } },
  { "videoflip video-direction=90l", 120, 160, { 0, 0, 120, 160 } },
  { "videoflip video-direction=ul-lr", 120, 160, { 0, 0, 120, 160 } },
  { "videoflip video-direction=ur-ll", 120, 160, { 0, 0, 120, 160 } },
  { "videobox border-alpha=1 left=-10 top=-6 bottom=-2", 170, 128, { 10, 6, 160, 120 } },
  { "videobox border-alpha=1 left=-10 top=-6 right=20 bottom=4", 150, 122, { 10, 6, 140, 116 } },
  { "compositor sink_0::xpos=20 sink_0::ypos=6 ! video/x-raw,width=200,height=150",
    200,
    150,
    { 20, 6, 160, 120 } },
  { "compositor sink_0::xpos=-30 sink_0::ypos=40 ! video/x-raw,width=180,height=130",
    180,
    130,
    { 0, 40, 130, 90 } },
  // a letterbox
  { "videoscale method=nearest-neighbour ! "
    "video/x-raw,width=320,height=480,pixel-aspect-ratio=1/1",
    320,
    480,
    { 0, 120, 320, 240 },
    2 },
  { "videocrop left=11 right=9 ! videoscale method=nearest-neighbour ! "
    "video/x-raw,width=420,height=360,pixel-aspect-ratio=1/1 ! videocrop top=6",
    420,
    354,
    { 0, 0, 420, 354 },
    3,
    11,
    2 },
  { "videocrop left=11 ! videoflip video-direction=90r ! videobox border-alpha=1 top=-4 ! "
    "videocrop bottom=9 ! videoflip video-direction=ur-ll",
    144,
    120,
    { 0, 0, 140, 120 } },
};

std::string line_of (const Case &c, const char *format)
{
  return std::string ("videotestsrc num-buffers=3 pattern=snow ! video/x-raw,format=") + format
         + ",width=160,height=120,pixel-aspect-ratio=1/1 ! "
           "cudaintegralhist bins=16 backend=cpu tuning-time=0 ! "
         + c.behind + " ! identity ! video/x-raw,format=" + format
         + " ! appsink name=sink sync=false";
}

/// Counts the pixels of the part of a rectangle that lies in another one.
std::vector<guint32> count (const Picture &frame, const GstVideoRectangle &r,
                            const GstVideoRectangle &within)
{
  const int x = std::max (r.x, within.x), y = std::max (r.y, within.y);
  const GstVideoRectangle both = { x, y, std::min (r.x + r.w, within.x + within.w) - x,
                                   std::min (r.y + r.h, within.y + within.h) - y };
  const Sums counts = count_pixels (frame.luma, frame.width, both, kBins);
  return { counts.begin (), counts.end () };
}

[[maybe_unused]] void check_counts (const Case &c, GstBuffer *buffer, const Picture &frame)
{
  GstIntegralHistogramMeta *const meta = gst_buffer_get_integral_histogram_meta (buffer);
  fail_unless (meta != nullptr, "%s: the meta was dropped", c.behind);
  fail_unless_equals_int (meta->width, c.width);
  fail_unless_equals_int (meta->height, c.height);
  std::mt19937 random (3);
  const auto pick = [&] (int from, int to) {
    return std::uniform_int_distribution<int> (from, to) (random);
  };
  const int e = c.enlarged;
  for (int n = 0; n < 200; n++) {
    // in enlarged frames, rectangles around whole pixels of the original
    GstVideoRectangle r = { c.picture.x + e * pick (-20, c.picture.w / e),
                            c.picture.y + e * pick (-20, c.picture.h / e), e * pick (1, 90),
                            e * pick (1, 90) };
    if (n == 0)
      r = { 0, 0, c.width, c.height };
    gsize n_counts;
    g_autoptr (GError) error = nullptr;
    g_autofree guint32 *counts =
        gst_integral_histogram_meta_region (meta, r.x, r.y, r.w, r.h, &n_counts, &error);
    fail_unless (counts != nullptr, "%s", error ? error->message : "");
    fail_unless_equals_int (n_counts, kBins);
    std::vector<guint32> wanted (kBins);
    if (e == 1) {
      wanted = count (frame, r, c.picture);
    } else {
      const auto clipped = [e] (int from, int at, int most) {
        return from + std::clamp (at, 0, most) / e;
      };
      const int x0 = clipped (c.x, r.x - c.picture.x, c.picture.w),
                x1 = clipped (c.x, r.x + r.w - c.picture.x, c.picture.w),
                y0 = clipped (c.y, r.y - c.picture.y, c.picture.h),
                y1 = clipped (c.y, r.y + r.h - c.picture.y, c.picture.h);
      fail_unless (gst_integral_histogram_region (meta->histogram, x0, y0, x1 - x0, y1 - y0,
                                                  wanted.data (), nullptr));
    }
    guint32 pixels = 0;
    for (int b = 0; b < kBins; b++) {
      fail_unless (counts[b] == wanted[std::size_t (b)], "%s: %d,%d,%d,%d bin %d: %u instead of %u",
                   c.behind, r.x, r.y, r.w, r.h, b, counts[b], wanted[std::size_t (b)]);
      pixels += counts[b];
    }
    GstVideoRectangle o;
    fail_unless_equals_int (
        gst_integral_histogram_meta_get_original (meta, r.x, r.y, r.w, r.h, &o.x, &o.y, &o.w, &o.h),
        pixels > 0);
    fail_unless_equals_int (o.w * o.h, pixels);
    fail_unless (o.x >= 0 && o.y >= 0 && o.x + o.w <= kWidth && o.y + o.h <= kHeight);
  }
}

}  // namespace

TEST_EACH (counts, std::size (kCases))
{
  const Case &c = kCases[__i__];
  for (const char *format : { "GRAY8", "I420" }) {
    if (g_str_equal (format, "GRAY8") && strstr (c.behind, "compositor"))
      continue;  // knows none
    const Sample sample = sample_of (line_of (c, format));
    GstBuffer *const buffer = gst_sample_get_buffer (sample.get ());
    const Picture frame = picture_of (sample);
    fail_unless_equals_int (frame.width, c.width);
    fail_unless_equals_int (frame.height, c.height);
    fail_unless_equals_int (int (frame.luma.size ()), c.width * c.height);
#if GST_CHECK_VERSION(1, 28, 0)
    check_counts (c, buffer, frame);
#else
    fail_unless (!gst_buffer_get_integral_histogram_meta (buffer), "%s", c.behind);
#endif
  }
}

/// The tracker follows the same target behind a crop, borders or a flip as before it. If the meta
/// is dropped, the tracker says so.
TEST (tracks)
{
  static const struct {
    const char *behind;
    GstVideoRectangle start;  // of the target, in the frame then
    bool is_mirrored;
    int x, y;  // by how much the frame is shifted
  } kWays[] = {
    { "identity", { 40, 30, 24, 20 }, false, 0, 0 },
    { "videocrop left=16 top=8", { 24, 22, 24, 20 }, false, -16, -8 },
    { "videobox border-alpha=1 left=-12 top=-4", { 52, 34, 24, 20 }, false, 12, 4 },
    { "videoflip video-direction=horiz", { kWidth - 64, 30, 24, 20 }, true, 0, 0 },
  };
  for (const auto &way : kWays) {
    const bool is_dropped = !g_str_equal (way.behind, "identity") && !GST_CHECK_VERSION (1, 28, 0);
    const std::string caps = caps_of ("GRAY8", kWidth, kHeight);
    Alone alone (std::string ("cudaintegralhist backend=cpu bins=16 tuning-time=0 ! ") + way.behind
                     + " ! integralhisttrack method=fragments targets=\""
                     + std::to_string (way.start.x) + "," + std::to_string (way.start.y)
                     + ",24,20\"",
                 caps);
    for (int frame = 0; frame < 8; frame++) {
      std::mt19937 random (5);
      std::vector<guint8> pixels (kWidth * kHeight);
      for (guint8 &pixel : pixels)
        pixel = guint8 (random () % 100);
      const int left = 40 + 2 * frame, top = 30 + frame;
      for (int y = 0; y < 20; y++)
        for (int x = 0; x < 24; x++)
          pixels[std::size_t ((top + y) * kWidth + left + x)] =
              guint8 (150 + (x * 3 + y * 5) % 100);
      GstBuffer *const in = gst_buffer_new_allocate (nullptr, pixels.size (), nullptr);
      gst_buffer_fill (in, 0, pixels.data (), pixels.size ());
      g_autoptr (GstBuffer) out = alone.pass (in);
      const auto *const roi = reinterpret_cast<const GstVideoRegionOfInterestMeta *> (
          gst_buffer_get_meta (out, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE));
      fail_unless ((roi == nullptr) == is_dropped, "%s, frame %d", way.behind, frame);
      if (is_dropped)
        continue;
      const int x = way.is_mirrored ? kWidth - left - 24 : left + way.x, y = top + way.y;
      fail_unless (std::abs (int (roi->x) - x) <= 1 && std::abs (int (roi->y) - y) <= 1
                       && std::abs (int (roi->w) - 24) <= 2 && std::abs (int (roi->h) - 20) <= 2,
                   "%s, frame %d: %u,%u,%u,%u instead of %d,%d", way.behind, frame, roi->x, roi->y,
                   roi->w, roi->h, x, y);
    }
  }
}

/// The meta is dropped if nothing of the frame is left, or the picture is turned by other angles
/// than quarters.
TEST (dropped)
{
  for (const char *behind : { "compositor sink_0::xpos=500 ! video/x-raw,width=200,height=150",
                              "videoconvert ! rotate angle=0.3 ! videoconvert" }) {
    const Sample sample = sample_of (line_of ({ behind, 0, 0, {} }, "I420"));
    fail_unless (!gst_buffer_get_integral_histogram_meta (gst_sample_get_buffer (sample.get ())),
                 "%s", behind);
  }
}

#if GST_CHECK_VERSION(1, 28, 0)
/// A likelihood map shows a whole frame, so the element does not take the meta of a part.
TEST (likelihood)
{
  Alone alone ("cudaintegralhist backend=cpu bins=16 tuning-time=0 ! videocrop left=16 ! "
               "integralhistlikelihood mode=gray",
               caps_of ("GRAY8", kWidth, kHeight));
  GstBuffer *const in = even (gray (kWidth, kHeight), 77);
  expect_parts (alone.refusal (in, "crop", GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED),
                { "cudaintegralhist" });
}

/// Matrices that no element of GStreamer makes.
TEST (matrices)
{
  Alone alone ("cudaintegralhist backend=cpu bins=16 tuning-time=0",
               caps_of ("GRAY8", kWidth, kHeight));
  GstBuffer *const in = even (gray (kWidth, kHeight), 77);
  g_autoptr (GstBuffer) buffer = alone.pass (in);
  GstMeta *const meta = &gst_buffer_get_integral_histogram_meta (buffer)->meta;
  GstVideoInfo info, other;
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  gst_video_info_set_format (&other, GST_VIDEO_FORMAT_GRAY8, kWidth / 2, kHeight / 2);
  const auto follows = [&] (auto &&change) {
    GstVideoMetaTransformMatrix matrix;
    const GstVideoRectangle all = { 0, 0, kWidth, kHeight };
    gst_video_meta_transform_matrix_init (&matrix, &info, &all, &info, &all);
    change (matrix);
    g_autoptr (GstBuffer) target = gst_buffer_new ();
    const gboolean done = meta->info->transform_func (
        target, meta, buffer, gst_video_meta_transform_matrix_get_quark (), &matrix);
    fail_unless_equals_int (done, gst_buffer_get_integral_histogram_meta (target) != nullptr);
    return bool (done);
  };
  fail_unless (follows ([] (auto &) {}));
  fail_unless (!follows ([] (auto &m) { m.matrix[0][1] = 0.25f; }));               // shear
  fail_unless (!follows ([] (auto &m) { m.matrix[2][0] = 0.001f; }));              // perspective
  fail_unless (!follows ([] (auto &m) { m.matrix[0][0] = m.matrix[1][1] = 0; }));  // nothing
  fail_unless (!follows ([] (auto &m) { m.matrix[0][0] = 0.5f; }));  // fills half of its rectangle
  fail_unless (!follows ([] (auto &m) { m.matrix[0][2] = 20; }));    // lies next to its rectangle
  fail_unless (!follows ([] (auto &m) { m.matrix[0][0] = std::nanf (""); }));
  fail_unless (!follows ([] (auto &m) { m.in_rectangle.w = 0; }));
  fail_unless (!follows ([&] (auto &m) { m.in_info = &other; }));  // a frame of another size
  // mirrored, with coordinates of edges as well as of pixels
  for (const float last : { kWidth - 1, kWidth })
    fail_unless (follows ([=] (auto &m) {
      m.matrix[0][0] = -1;
      m.matrix[0][2] = last;
    }));
}

#else

TEST (matrices)
{
  printf ("SKIP: likelihood, matrices: GStreamer before 1.28 has no matrices\n");
}

#endif
