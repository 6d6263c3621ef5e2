// SPDX-License-Identifier: LGPL-2.1-or-later
//
// first-bin and n-bins: the planes of ranges, one behind the other, equal the whole tensor byte for
// byte, and give its answers. The truth is the whole histogram, and for luma the counted pixels.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <span>

#include <unistd.h>

#include <kernels/inthist.hpp>
#include <kernels/registry.hpp>

#include "bin_ranges.hpp"

namespace {

/// Settings of an element that counts, and how many bins they make.
struct Counts {
  const char *properties, *format;
  int bins;
  bool weighted = false;
};
constexpr Counts kCounts[] = {
  { "bins=32", "GRAY8", 32 },
  { "bins=256", "GRAY8", 256 },
  { "bins=7", "I420", 7 },
  { "bins=11", "RGB", 11 },
  { "feature=labels bins=256", "GRAY8", 256 },
  { "feature=labels bins=40", "GRAY8", 40 },
  { "feature=red bins=9", "RGB", 9 },
  { "feature=green bins=16", "NV12", 16 },
  { "feature=blue bins=5", "BGRx", 5 },
  { "feature=cb bins=8", "I420", 8 },
  { "feature=cr bins=256", "NV12", 256 },
  { "feature=hue bins=18", "RGB", 18 },
  { "feature=hue bins=180", "I420", 180 },
  { "feature=saturation bins=6", "RGB", 6 },
  { "feature=value bins=10", "RGB", 10 },
  { "feature=rgb", "RGB", 216 },
  { "feature=rgb quantization=2,3,2", "I420", 12 },
  { "feature=ycbcr", "I420", 256 },
  { "feature=hue-saturation quantization=5,3", "RGB", 15 },
  { "feature=hsv quantization=4,3,2", "NV12", 24 },
  { "feature=hsv", "RGB", 256 },
  { "feature=gradient bins=9", "GRAY8", 9 },
  { "feature=signed-gradient bins=13", "I420", 13 },
  { "feature=lbp", "GRAY8", 256 },
  { "feature=uniform-lbp", "GRAY8", 59 },
  { "bins=4 lut=3,2,1,0,9,2", "GRAY8", 4 },
  { "bins=255 lut=254,253,0,1", "GRAY8", 255 },
  { "feature=hue-saturation quantization=6,2 bins=3 lut=0,0,1,1,2,2,0,0,1,1,7,2", "RGB", 3 },
  { "feature=gradient bins=3 lut=2,2,2,1,1,1,0,0,0,0,0,0,0,0,0,0,0,0,1,2", "GRAY8", 3 },
  { "bins=8 weight=gradient", "GRAY8", 8, true },
  { "bins=256 weight=gradient", "GRAY8", 256, true },
  { "feature=hsv quantization=3,2,2 weight=gradient", "RGB", 12, true },
  { "feature=lbp weight=gradient", "GRAY8", 256, true },
  { "bins=3 weight=gradient lut=0,1,2,2,1", "GRAY8", 3, true },
  { "bins=6 soft=true", "GRAY8", 6, true },
  { "bins=255 soft=true weight=gradient", "I420", 255, true },
  { "feature=hue bins=5 soft=true", "RGB", 5, true },  // whose first bin follows the last
  { "feature=hue bins=2 soft=true weight=gradient", "NV12", 2, true },
  { "feature=gradient bins=9 weight=gradient soft=true", "GRAY8", 9, true },
  { "feature=signed-gradient bins=18 weight=gradient soft=true", "I420", 18, true },
};
constexpr const char *kCounters[] = { "u32", "u16", "u8-tiled" };

/// Ranges that cover all bins: one range, several, and single bins. With many bins not every bin
/// has a range to itself.
std::vector<std::vector<Range>> splits_of (int bins)
{
  std::vector<std::vector<Range>> splits = { { { 0, bins } }, { { 0, 0 } } };
  if (bins > 1)
    splits.push_back ({ { 0, bins / 3 > 0 ? bins / 3 : 1 }, { bins / 3 > 0 ? bins / 3 : 1, 0 } });
  if (bins > 4)
    splits.push_back ({ { 0, 1 }, { 1, bins - 3 }, { bins - 2, 1 }, { bins - 1, 1 } });
  if (bins > 1 && bins <= 13) {
    std::vector<Range> single;
    for (int b = 0; b < bins; b++)
      single.push_back ({ b, 1 });
    splits.push_back (single);
  }
  return splits;
}

/// The used bytes of each plane.
std::vector<std::string> planes_of (GstIntegralHistogram *histogram, const std::string &what)
{
  const TensorCopy tensor (histogram, what);
  const auto *const bytes = reinterpret_cast<const char *> (tensor.bytes.data ());
  const Rows rows = rows_of (histogram);
  const guint n = gst_integral_histogram_get_bins (histogram);
  std::vector<std::string> planes (n);
  for (guint b = 0; b < n; b++)
    for (guint row = 0; row < rows.n; row++)
      planes[b].append (bytes + b * rows.plane_pitch + row * rows.pitch, rows.used);
  return planes;
}

/// Sums of rectangles, a row for each bin, asked one by one and together.
std::vector<std::vector<guint64>> answers_of (GstIntegralHistogram *histogram, int width,
                                              int height, const std::string &what)
{
  const GstVideoRectangle rectangles[] = {
    { 0, 0, width, height }, { width / 3, height / 4, 11, 9 }, { -5, -5, 9, 9 }, { 3, 1, 1, 1 }
  };
  constexpr guint kN = G_N_ELEMENTS (rectangles);
  const guint bins = gst_integral_histogram_get_bins (histogram);
  g_autoptr (GError) error = nullptr;
  std::vector<guint64> sums (kN * bins), one (bins);
  fail_unless (
      gst_integral_histogram_regions_sums (histogram, rectangles, kN, sums.data (), &error),
      "%s: %s", what.c_str (), error ? error->message : "");
  std::vector<std::vector<guint64>> answers (bins);
  for (guint i = 0; i < kN; i++) {
    const auto &r = rectangles[i];
    fail_unless (
        gst_integral_histogram_region_sums (histogram, r.x, r.y, r.w, r.h, one.data (), &error));
    for (guint b = 0; b < bins; b++) {
      fail_unless (one[b] == sums[i * bins + b], "%s", what.c_str ());
      answers[b].push_back (one[b]);
    }
  }
  const GstIntegralHistogramGrid grid = { .window_width = 9,
                                          .window_height = 7,
                                          .x = -2,
                                          .y = 1,
                                          .step_x = 5,
                                          .step_y = 3,
                                          .columns = 9,
                                          .rows = 8 };
  std::vector<guint32> counts (gsize (grid.columns) * grid.rows * bins);
  fail_unless (gst_integral_histogram_grids (histogram, &grid, 1, counts.data (), &error), "%s: %s",
               what.c_str (), error ? error->message : "");
  for (gsize i = 0; i < counts.size (); i++)
    answers[i % bins].push_back (counts[i]);
  return answers;
}

/// Checks that each split has the planes and the answers of the whole histogram.
void check_splits (const Counts &counts, const std::string &how, bool tensors = true)
{
  const std::string settings = counts.properties + (" " + how);
  const Histogram whole = Counter (settings).count (counts.format);
  check_range (whole.get (), { 0, counts.bins }, counts.bins, settings);
  const auto answers = answers_of (whole.get (), kWidth, kHeight, settings);
  const auto planes = tensors ? planes_of (whole.get (), settings) : std::vector<std::string> ();
  for (const auto &split : splits_of (counts.bins)) {
    gsize next = 0;
    for (const Range &range : split) {
      const std::string what = settings + text_of (range);
      const Histogram part = Counter (what).count (counts.format);
      check_range (part.get (), range, counts.bins, what);
      const auto some = answers_of (part.get (), kWidth, kHeight, what);
      fail_unless (next + some.size () <= answers.size (), "%s", what.c_str ());
      fail_unless (std::ranges::equal (some, std::span (answers).subspan (next, some.size ())),
                   "%s: other answers", what.c_str ());
      if (tensors) {
        const auto some_planes = planes_of (part.get (), what);
        fail_unless (
            std::ranges::equal (some_planes, std::span (planes).subspan (next, some.size ())),
            "%s: other planes", what.c_str ());
      }
      next += some.size ();
    }
    fail_unless_equals_uint64 (next, gsize (counts.bins));
  }
}

}  // namespace

/// The ranges add up for every feature, with compute=eager and with compute=on-demand.
RANGE_TEST (features)
{
  for (const Counts &counts : kCounts)
    for (const char *compute : { "eager", "on-demand" })
      check_splits (counts, on (backend, std::string ("compute=") + compute));
}

RANGE_TEST (counters)
{
  for (const Counts &counts : kCounts)
    for (const char *counter : kCounters)
      if (!counts.weighted && counts.bins <= 59)
        for (const char *compute : { "eager", "on-demand" })
          check_splits (counts,
                        on (backend, std::string ("compute=") + compute + " counter=" + counter));
}

/// All strategies of the backend.
RANGE_TEST (strategies)
{
  using inthist::Type;
  constexpr Type kTypes[] = { Type::u32, Type::u16, Type::u8_tiled };
  const auto device = strcmp (backend, "cpu") == 0 ? inthist::Device::cpu : inthist::Device::cuda;
  for (const inthist::Strategy &strategy : inthist::strategies ())
    for (const Counts &counts : { kCounts[0], kCounts[2], kCounts[19], kCounts[38] })
      for (gsize i = 0; i < std::size (kTypes); i++) {
        const auto content = counts.weighted ? inthist::Content::weights : inthist::Content::bins;
        const inthist::Shape shape = { kWidth,    kHeight, counts.bins,
                                       kTypes[i], content, counts.weighted ? Type::u32 : Type::u8 };
        if (strategy.device == device && inthist::accepts (strategy, shape))
          check_splits (counts, on (backend, std::string ("compute=eager strategy=") + strategy.name
                                                 + " counter=" + kCounters[i]));
      }
}

/// A range is computed on several devices: in shards that stay, downloaded, and in rounds.
RANGE_TEST (devices)
{
  Random random (seed ());
  for (const Counts &counts : { kCounts[0], kCounts[2], kCounts[19], kCounts[21], kCounts[38] })
    for (const char *counter : { "u32", "u16", "u8-tiled" }) {
      if (counts.weighted && strcmp (counter, "u32") != 0)
        continue;
      const std::string shared =
          on (backend, "cuda-device-ids=" + device_list (backend, random) + " counter=" + counter);
      for (const char *more :
           { "", " task-bins=2", " task-bins=3 download=eager", " compute=on-demand task-bins=5" })
        check_splits (counts, shared + more);
      if (!counts.weighted && strcmp (counter, "u32") == 0)
        check_splits (counts, shared + " max-device-memory=400000");
    }
}

/// Shards of a range say which bins of the whole they are.
RANGE_TEST (shards)
{
  const Buffer out = Counter (on (backend, "bins=32 first-bin=5 n-bins=10 cuda-device-ids=0 "
                                           "task-bins=4"))
                         .pass ("GRAY8", kWidth, kHeight, 3);
  const Histogram histogram = histogram_in (out.get ());
  fail_unless_equals_int (int (gst_integral_histogram_get_n_shards (histogram.get ())), 3);
  for (guint i = 0; i < 3; i++) {
    guint plane = 99;
    const Histogram shard (gst_integral_histogram_get_shard (histogram.get (), i, &plane));
    fail_unless_equals_int (int (plane), int (4 * i));
    check_range (shard.get (), { int (5 + 4 * i), i < 2 ? 4 : 2 }, 32, "a shard");
  }
}

/// The size and the format of the frames change in the stream.
RANGE_TEST (caps)
{
  for (const char *properties : { "bins=12", "feature=hsv quantization=4,3,2 compute=on-demand",
                                  "feature=gradient bins=9 weight=gradient soft=true" }) {
    const std::string settings = on (backend, properties);
    Counter whole (settings), part (settings + " first-bin=2 n-bins=5");
    const auto check = [&] (const char *format, int width, int height, unsigned seed) {
      const auto all =
          answers_of (whole.count (format, width, height, seed).get (), width, height, settings);
      const Histogram histogram = part.count (format, width, height, seed);
      const auto some = answers_of (histogram.get (), width, height, settings);
      fail_unless (std::ranges::equal (some, std::span (all).subspan (2, 5)), "%s: %s %dx%d",
                   settings.c_str (), format, width, height);
    };
    check ("I420", 64, 48, 1);
    check ("I420", 64, 48, 2);
    check ("I420", 90, 30, 3);
    check ("RGB", 90, 30, 4);
    check ("NV12", 17, 21, 5);
  }
}

/// Brightness, counted pixel by pixel, in planes and in rectangles.
RANGE_TEST (counted)
{
  constexpr Range kRange = { 9, 14 };
  constexpr int kBins = 40;
  const GstVideoInfo info = info_of (caps_of ("GRAY8", kWidth, kHeight));
  const Buffer in (noise (info, 3));
  const auto values = luma (info, in.get (), 0, 0);
  for (const char *compute : { "eager", "on-demand" })
    for (const char *counter : kCounters) {
      const std::string settings = on (backend, std::string ("bins=40 first-bin=9 n-bins=14 "
                                                             "compute=")
                                                    + compute + " counter=" + counter);
      const Histogram part = Counter (settings).count ("GRAY8");
      check_range (part.get (), kRange, kBins, settings);
      const TensorCopy tensor (part.get ());
      for (int y : { 0, 1, 20, kHeight - 1 })
        for (int x : { 0, 3, 40, kWidth - 1 }) {
          const GstVideoRectangle r = { 0, 0, x + 1, y + 1 };
          const Sums counts = count_pixels (values, kWidth, r, kBins);
          for (int b = 0; b < kRange.n; b++)
            fail_unless_equals_uint64 (gst_integral_histogram_get_element (
                                           part.get (), tensor.bytes.data (), guint (b), x, y),
                                       counts[std::size_t (kRange.first + b)]);
        }
      guint32 counts[kRange.n];
      fail_unless (gst_integral_histogram_region (part.get (), 5, 6, 30, 20, counts, nullptr));
      const Sums wanted = count_pixels (values, kWidth, GstVideoRectangle{ 5, 6, 30, 20 }, kBins);
      for (int b = 0; b < kRange.n; b++)
        fail_unless_equals_uint64 (counts[b], wanted[std::size_t (kRange.first + b)]);
    }
}

/// A tensor has only the planes of its range: it takes no more memory than they do, and fits where
/// the whole tensor does not.
RANGE_TEST (memory)
{
  const Histogram part =
      Counter (on (backend, "bins=256 first-bin=16 n-bins=8")).count ("GRAY8", 640, 480);
  g_autoptr (GstBuffer) tensor = gst_integral_histogram_get_buffer (part.get (), nullptr);
  fail_unless_equals_uint64 (gst_buffer_get_size (tensor), 640 * 4 * 480 * 8);
  const auto fits = [&] (const std::string &range) {
    // 256 planes take 315 MB, 8 take 10 MB
    Harness h (std::string ("cudaintegralhist tuning-time=0 bins=256 download=never "
                            "max-device-memory=60000000 cuda-device-ids=0 backend=")
                   + backend + range,
               caps_of ("GRAY8", 640, 480).c_str ());
    const GstFlowReturn flow =
        gst_harness_push (h, noise (info_of (caps_of ("GRAY8", 640, 480)), 1));
    return flow == GST_FLOW_OK;
  };
  fail_unless (!fits (""));
  fail_unless (!fits (" first-bin=100 n-bins=128"));
  fail_unless (fits (" first-bin=16 n-bins=8"));
  fail_unless (fits (" first-bin=248"));
}

/// An element with a range reads the file of a lookup table as any other does.
RANGE_TEST (lut_location)
{
  g_autofree char *path = g_build_filename (g_get_tmp_dir (), "bin_ranges-XXXXXX", nullptr);
  const int file = g_mkstemp (path);
  fail_unless (file >= 0);
  close (file);
  std::ofstream (path) << "4, 3, 2, 1, 0, 9, 1, 1";
  const std::string properties = std::string ("bins=5 lut-location=") + path;
  check_splits ({ properties.c_str (), "GRAY8", 5 }, on (backend, ""));
  std::remove (path);
}

TEST_TIMEOUT (240);
