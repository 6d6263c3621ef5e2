// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A buffer that contradicts its caps and metas is one error, before a byte outside of the memory is
// read. An odd but true buffer is counted right.
#include "alone.hpp"
#include "test.hpp"

namespace {

constexpr int kSide = 64;

/// A lie is refused, or it holds for elements that read plane 0, or for those that read all planes.
enum Truth { kRefused, kCounted, kPainted };

/// Names what the GstVideoMeta says, and what there is.
struct Lie {
  const char *what, *format;
  std::vector<gsize> memories;  // bytes of each
  std::array<gint64, 3> offset, stride;
  Truth truth = kRefused;
  struct {
    const char *format = nullptr;
    guint width = kSide, height = kSide, planes = 0;
  } meta = {};
};

constexpr gint64 kFrame = kSide * kSide;
constexpr std::array<gint64, 3> kPlanes = { 0, kFrame, kFrame * 5 / 4 },
                                kPitches = { kSide, kSide / 2, kSide / 2 };

const Lie kLies[] = {
  { "as it should be", "GRAY8", { kFrame }, { 0 }, { kSide }, kPainted },
  { "wide rows without an end", "GRAY8", { 100 * (kSide - 1) + kSide }, { 0 }, { 100 }, kPainted },
  { "a byte too few", "GRAY8", { kFrame - 1 }, { 0 }, { kSide } },
  { "half of the rows", "GRAY8", { kFrame / 2 }, { 0 }, { kSide } },
  { "a byte too late", "GRAY8", { kFrame }, { 1 }, { kSide } },
  { "behind the end", "GRAY8", { kFrame }, { kFrame + 900 }, { kSide } },
  { "far behind the end", "GRAY8", { kFrame }, { G_MAXINT64 }, { kSide } },
  { "rows of 100000 bytes", "GRAY8", { kFrame }, { 0 }, { 100000 } },
  { "the longest rows", "GRAY8", { kFrame }, { 0 }, { G_MAXINT } },
  { "rows before the first byte", "GRAY8", { kFrame }, { 0 }, { -kSide } },
  { "rows far before the first byte", "GRAY8", { kFrame }, { kFrame - kSide }, { G_MININT } },
  { "from the bottom up", "GRAY8", { kFrame }, { kFrame - kSide }, { -kSide }, kCounted },
  { "from the bottom up, a row too far", "GRAY8", { kFrame }, { kFrame - 2 * kSide }, { -kSide } },
  { "one row again and again", "GRAY8", { kSide }, { 0 }, { 0 }, kPainted },
  { "rows that overlap", "GRAY8", { 63 * 3 + kSide }, { 0 }, { 3 }, kPainted },
  { "rows that overlap and are aligned", "GRAY8", { 63 * 16 + kSide }, { 0 }, { 16 }, kPainted },
  { "over two memories", "GRAY8", { kFrame / 2, kFrame / 2 }, { 0 }, { kSide } },
  { "in the second memory", "GRAY8", { 100, kFrame }, { 100 }, { kSide }, kPainted },
  { "another format", "GRAY8", { 2 * kFrame }, { 0 }, { kSide }, kRefused, { .format = "I420" } },
  { "narrower", "GRAY8", { kFrame }, { 0 }, { kSide }, kRefused, { .width = kSide - 1 } },
  { "lower", "GRAY8", { kFrame }, { 0 }, { kSide }, kRefused, { .height = kSide - 1 } },
  { "no pixels", "GRAY8", { kFrame }, { 0 }, { kSide }, kRefused, { .width = 0, .height = 0 } },
  { "a higher picture, cut as the caps say",
    "GRAY8",
    { kFrame },
    { 0 },
    { kSide },
    kCounted,
    { .height = 128 } },
  { "the largest picture",
    "GRAY8",
    { kFrame },
    { 0 },
    { kSide },
    kCounted,
    { .width = G_MAXINT, .height = G_MAXINT } },
  { "words at odd places", "GRAY16_LE", { 129 * kSide }, { 0 }, { 129 }, kCounted },
  { "words that begin at an odd place", "GRAY16_LE", { 2 * kFrame + 1 }, { 1 }, { 128 }, kCounted },
  { "pixels at odd places", "BGRx", { 258 * kSide }, { 0 }, { 258 }, kCounted },
  { "three planes", "I420", { kFrame * 3 / 2 }, kPlanes, kPitches, kPainted },
  { "a memory for each plane",
    "I420",
    { kFrame, kFrame / 4, kFrame / 4 },
    kPlanes,
    kPitches,
    kPainted },
  { "a byte of the last plane too few",
    "I420",
    { kFrame * 3 / 2 - 1 },
    kPlanes,
    kPitches,
    kCounted },
  { "chroma over two memories",
    "I420",
    { kFrame + 100, kFrame / 2 - 100 },
    kPlanes,
    kPitches,
    kCounted },
  { "chroma from the bottom up",
    "I420",
    { kFrame * 3 / 2 },
    { 0, kFrame + 31 * 32, kFrame * 5 / 4 },
    { kSide, -kSide / 2, kSide / 2 },
    kCounted },
  { "one plane of three", "I420", { kFrame * 3 / 2 }, { 0 }, { kSide }, kRefused, { .planes = 1 } },
};

/// Bytes that are known by their place, each memory in an allocation of its own.
GstBuffer *buffer_of (const Lie &lie)
{
  GstBuffer *const buffer = gst_buffer_new ();
  guint8 value = 0;
  for (const gsize bytes : lie.memories) {
    auto *const data = static_cast<guint8 *> (g_malloc (bytes));
    for (gsize i = 0; i < bytes; i++)
      data[i] = value += 37;
    gst_buffer_append_memory (
        buffer, gst_memory_new_wrapped (GstMemoryFlags (0), data, bytes, 0, bytes, data, g_free));
  }
  const GstVideoFormat format =
      gst_video_format_from_string (lie.meta.format ? lie.meta.format : lie.format);
  gsize offset[GST_VIDEO_MAX_PLANES] = {};
  gint stride[GST_VIDEO_MAX_PLANES] = {};
  for (int p = 0; p < 3; p++) {
    offset[p] = gsize (lie.offset[gsize (p)]);
    stride[p] = gint (lie.stride[gsize (p)]);
  }
  const guint planes = lie.meta.planes
                           ? lie.meta.planes
                           : GST_VIDEO_FORMAT_INFO_N_PLANES (gst_video_format_get_info (format));
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE, format, lie.meta.width,
                                  lie.meta.height, planes, offset, stride);
  return buffer;
}

/// Counts the pixels of four bins, in the first rows.
std::array<guint32, 4> truth_of (const Lie &lie, int rows)
{
  std::vector<guint8> bytes;
  guint8 value = 0;
  for (const gsize n : lie.memories)
    for (gsize i = 0; i < n; i++)
      bytes.push_back (value += 37);
  const bool deep = g_str_equal (lie.format, "GRAY16_LE"), rgb = g_str_equal (lie.format, "BGRx");
  const int pixel = deep ? 2 : rgb ? 4 : 1;
  std::array<guint32, 4> counts = {};
  for (int y = 0; y < rows; y++)
    for (int x = 0; x < kSide; x++) {
      const guint8 *const p = &bytes[gsize (lie.offset[0] + y * lie.stride[0] + x * pixel)];
      counts[gsize (rgb ? ((13933u * p[2] + 46871u * p[1] + 4732u * p[0] + 32768u) >> 16) : p[deep])
             / 64]++;
    }
  return counts;
}

}  // namespace

BACKEND_TEST (counts)
{
  for (const Lie &lie : kLies)
    for (const char *how :
         { "", " sync=true", " cuda-device-ids=0 task-bins=1", " max-device-memory=30000" }) {
      const std::string what = std::string (lie.what) + how;
      Alone alone (std::string ("cudaintegralhist bins=4 tuning-time=0 backend=") + backend + how,
                   caps_of (lie.format, kSide, kSide));
      GstBuffer *const in = buffer_of (lie);
      if (lie.truth == kRefused) {
        expect_parts (alone.refusal (in, what), { "The frame cannot be read" }, what);
        continue;
      }
      g_autoptr (GstBuffer) out = alone.pass (in);
      for (const int rows : { kSide, kSide / 2, 1 }) {
        std::array<guint32, 4> counts;
        g_autoptr (GError) error = nullptr;
        const bool answered = gst_integral_histogram_region (histogram_of (out), 0, 0, kSide, rows,
                                                             counts.data (), &error);
        fail_unless (answered, "%s: %s", what.c_str (), error ? error->message : "");
        fail_unless (counts == truth_of (lie, rows), "%s: wrong counts in the first %d rows",
                     what.c_str (), rows);
      }
    }
  // tables read the same plane
  for (const Lie &lie : kLies) {
    Alone alone (std::string ("cudaintegralimage tuning-time=0 backend=") + backend,
                 caps_of (lie.format, kSide, kSide));
    if (lie.truth != kRefused)
      gst_buffer_unref (alone.pass (buffer_of (lie)));
    else
      alone.refusal (buffer_of (lie), lie.what);
  }
  // an element that has refused a frame goes on after a flush
  Alone alone (std::string ("cudaintegralhist bins=4 backend=") + backend,
               caps_of ("GRAY8", kSide, kSide));
  alone.refusal (buffer_of (kLies[2]), "before a flush");
  alone.flush ();
  gst_buffer_unref (alone.pass (buffer_of (kLies[0])));
}

/// Without a GstVideoMeta the buffer has as many bytes as the caps say, in any number of memories.
TEST (without_meta)
{
  const auto make = [] (std::vector<gsize> memories) {
    Lie lie = kLies[0];
    lie.memories = std::move (memories);
    GstBuffer *const buffer = buffer_of (lie);
    gst_buffer_remove_meta (buffer, gst_buffer_get_meta (buffer, GST_VIDEO_META_API_TYPE));
    return buffer;
  };
  for (const char *line :
       { "cudaintegralhist backend=cpu tuning-time=0",
         "cudaintegralimage backend=cpu tuning-time=0", "integralhistoverlay regions=0,0,9,9" }) {
    if (!there_is (line, "wrong_buffers"))
      continue;
    for (const auto &memories :
         { std::vector<gsize>{ kFrame - 1 }, std::vector<gsize>{ 7 },
           std::vector<gsize>{ kFrame / 2, kFrame / 2 - 1 }, std::vector<gsize>{} }) {
      Alone alone (line, caps_of ("GRAY8", kSide, kSide));
      expect_parts (alone.refusal (make (memories), line), { "4096" }, line);
    }
    Alone alone (line, caps_of ("GRAY8", kSide, kSide));
    gst_buffer_unref (alone.pass (make ({ kFrame / 2, kFrame / 2 })));
    gst_buffer_unref (alone.pass (make ({ kFrame + 100 })));
  }
}

/// Elements read or write all planes. The histogram is of another frame of the size.
TEST (pictures)
{
  for (const char *line :
       { "integralhistoverlay regions=0,0,64,64",
         "integralhistoverlay regions=3,3,9,9 histograms=false labels=false",
         "integralhistlikelihood mode=blend", "integralhistlikelihood mode=gray" }) {
    if (!there_is (line, "wrong_buffers"))
      continue;
    // a map alone needs no pixels, only metas that do not contradict the caps
    const bool reads = !strstr (line, "gray");
    for (const Lie &lie : kLies) {
      const std::string caps = caps_of (lie.format, kSide, kSide),
                        what = std::string (line) + ": " + lie.what;
      Alone counts ("cudaintegralhist backend=cpu bins=8 tuning-time=0", caps), alone (line, caps);
      GstBuffer *const counted = counts.pass (noise (info_of (caps), 1)), *const in =
                                                                              buffer_of (lie);
      gst_buffer_add_integral_histogram_meta (in, histogram_of (counted));
      gst_buffer_unref (counted);
      if (lie.truth == kPainted)
        gst_buffer_unref (alone.pass (in));
      else if (reads)
        alone.refusal (in, what);
      else if (gst_harness_push (alone.get (), in) != GST_FLOW_OK)
        fail_unless (!alone.error (GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT).empty (),
                     "%s: no error", what.c_str ());
    }
  }
}
