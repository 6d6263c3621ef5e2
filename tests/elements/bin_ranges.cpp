// SPDX-License-Identifier: LGPL-2.1-or-later
//
// first-bin and n-bins: planes of some bins, one range behind the other, are the whole tensor byte
// for byte, and their answers are its answers. The truth is the whole histogram, and for luma what
// is counted in the pixels.
//
// Environment:
//   INTHIST_SEED=n  the seed, printed at the start (a fixed one by default)
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <span>
#include <tuple>

#include <unistd.h>

#include <kernels/inthist.hpp>
#include <kernels/registry.hpp>

#include "several_devices.hpp"
#include "test.hpp"

namespace {

constexpr int kWidth = 67, kHeight = 45;

/// What is counted, and how many bins that has.
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

struct Range {
  int first, n;
};

/// Properties of a range; 0 bins for all from the first on.
std::string text_of (const Range &range)
{
  return " first-bin=" + std::to_string (range.first) + " n-bins=" + std::to_string (range.n);
}

/// The whole in one range, and in several, down to single bins. Of many bins not each is alone.
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

Histogram histogram_in (GstBuffer *buffer)
{
  GstIntegralHistogramMeta *const meta = gst_buffer_get_integral_histogram_meta (buffer);
  fail_unless (meta);
  return { gst_integral_histogram_ref (meta->histogram), gst_integral_histogram_unref };
}

/// An element that runs.
class Counter {
public:
  explicit Counter (const std::string &properties)
      : properties_ (properties),
        harness_ (harness ("cudaintegralhist tuning-time=0 " + properties, nullptr))
  {
  }
  ~Counter () { gst_harness_teardown (harness_); }
  Counter (const Counter &) = delete;
  Counter &operator= (const Counter &) = delete;

  Buffer pass (const char *format, int width, int height, unsigned seed)
  {
    const std::string caps = caps_of (format, width, height);
    if (caps != caps_)
      gst_harness_set_src_caps_str (harness_, caps.c_str ());
    caps_ = caps;
    GstBuffer *const out = gst_harness_push_and_pull (harness_, noise (info_of (caps), seed));
    fail_unless (out, "%s: %s", properties_.c_str (), caps.c_str ());
    return { out, gst_buffer_unref };
  }
  Histogram count (const char *format, int width = kWidth, int height = kHeight, unsigned seed = 3)
  {
    return histogram_in (pass (format, width, height, seed).get ());
  }

private:
  const std::string properties_;
  GstHarness *const harness_;
  std::string caps_;
};

/// The used bytes of each plane.
std::vector<std::string> planes_of (GstIntegralHistogram *histogram, const std::string &what)
{
  g_autoptr (GError) error = nullptr;
  g_autoptr (GstBuffer) tensor = gst_integral_histogram_get_buffer (histogram, &error);
  fail_unless (tensor, "%s: %s", what.c_str (), error ? error->message : "");
  GstMapInfo map;
  fail_unless (gst_buffer_map (tensor, &map, GST_MAP_READ));
  const auto *const bytes = reinterpret_cast<const char *> (map.data);
  const Rows rows = rows_of (histogram);
  const guint n = gst_integral_histogram_get_bins (histogram);
  std::vector<std::string> planes (n);
  fail_unless_equals_uint64 (map.size, n * rows.plane_pitch);
  for (guint b = 0; b < n; b++)
    for (guint row = 0; row < rows.n; row++)
      planes[b].append (bytes + b * rows.plane_pitch + row * rows.pitch, rows.used);
  gst_buffer_unmap (tensor, &map);
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

/// What a histogram says of its bins.
void check_range (GstIntegralHistogram *histogram, const Range &range, int all,
                  const std::string &what)
{
  const int n = range.n ? range.n : all - range.first;
  const std::array has = { int (gst_integral_histogram_get_first_bin (histogram)),
                           int (gst_integral_histogram_get_bins (histogram)),
                           int (gst_integral_histogram_get_all_bins (histogram)) };
  fail_unless (has == (std::array{ range.first, n, all }), "%s: bins from %d on, %d of %d",
               what.c_str (), has[0], has[1], has[2]);
}

/// Each split's planes and answers are the whole's.
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

/// Keeps the devices open. Each element would open them anew, which takes longer than all else.
class OpenDevices {
public:
  explicit OpenDevices (const char *backend)
  {
    // each takes the device that the fewest use
    for (int i = std::max (cuda_devices (), 1); i > 0; i--) {
      elements_.push_back (gst_element_factory_make ("cudaintegralhist", nullptr));
      gst_util_set_object_arg (G_OBJECT (elements_.back ()), "backend", backend);
      gst_element_set_state (elements_.back (), GST_STATE_PAUSED);
    }
  }
  ~OpenDevices ()
  {
    for (GstElement *const element : elements_) {
      gst_element_set_state (element, GST_STATE_NULL);
      gst_object_unref (element);
    }
  }
  OpenDevices (const OpenDevices &) = delete;
  OpenDevices &operator= (const OpenDevices &) = delete;

private:
  std::vector<GstElement *> elements_;
};

std::string on (const char *backend, const std::string &more)
{
  return std::string ("backend=") + backend + " " + more;
}

/// Every feature, when it is computed at once and when it is asked for.
void run_features (const char *backend)
{
  for (const Counts &counts : kCounts)
    for (const char *compute : { "eager", "on-demand" })
      check_splits (counts, on (backend, std::string ("compute=") + compute));
}

void run_counters (const char *backend)
{
  for (const Counts &counts : kCounts)
    for (const char *counter : kCounters)
      if (!counts.weighted && counts.bins <= 59)
        for (const char *compute : { "eager", "on-demand" })
          check_splits (counts,
                        on (backend, std::string ("compute=") + compute + " counter=" + counter));
}

/// All of the backend.
void run_strategies (const char *backend)
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

/// Shared out over several devices, in shards that stay, downloaded, and in rounds.
void run_devices (const char *backend)
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
void run_shards (const char *backend)
{
  const Buffer out = Counter (on (backend, "bins=32 first-bin=5 n-bins=10 cuda-device-ids=0 "
                                           "task-bins=4"))
                         .pass ("GRAY8", kWidth, kHeight, 3);
  const Histogram histogram = histogram_in (out.get ());
  fail_unless_equals_int (int (gst_integral_histogram_get_n_shards (histogram.get ())), 3);
  for (guint i = 0; i < 3; i++) {
    guint plane = 99;
    const Histogram shard (gst_integral_histogram_get_shard (histogram.get (), i, &plane),
                           gst_integral_histogram_unref);
    fail_unless_equals_int (int (plane), int (4 * i));
    check_range (shard.get (), { int (5 + 4 * i), i < 2 ? 4 : 2 }, 32, "a shard");
  }
}

/// Other frame sizes and formats, midway.
void run_caps (const char *backend)
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
void run_counted (const char *backend)
{
  constexpr Range kRange = { 9, 14 };
  constexpr int kBins = 40;
  const GstVideoInfo info = info_of (caps_of ("GRAY8", kWidth, kHeight));
  const Buffer in (noise (info, 3), gst_buffer_unref);
  const auto values = luma (info, in.get (), 0, 0);
  for (const char *compute : { "eager", "on-demand" })
    for (const char *counter : kCounters) {
      const std::string settings = on (backend, std::string ("bins=40 first-bin=9 n-bins=14 "
                                                             "compute=")
                                                    + compute + " counter=" + counter);
      const Histogram part = Counter (settings).count ("GRAY8");
      check_range (part.get (), kRange, kBins, settings);
      g_autoptr (GstBuffer) tensor = gst_integral_histogram_get_buffer (part.get (), nullptr);
      GstMapInfo map;
      fail_unless (gst_buffer_map (tensor, &map, GST_MAP_READ));
      for (int y : { 0, 1, 20, kHeight - 1 })
        for (int x : { 0, 3, 40, kWidth - 1 }) {
          const GstVideoRectangle r = { 0, 0, x + 1, y + 1 };
          const Sums counts = count_pixels (values, kWidth, r, kBins);
          for (int b = 0; b < kRange.n; b++)
            fail_unless_equals_uint64 (
                gst_integral_histogram_get_element (part.get (), map.data, guint (b), x, y),
                counts[std::size_t (kRange.first + b)]);
        }
      gst_buffer_unmap (tensor, &map);
      guint32 counts[kRange.n];
      fail_unless (gst_integral_histogram_region (part.get (), 5, 6, 30, 20, counts, nullptr));
      const Sums wanted = count_pixels (values, kWidth, GstVideoRectangle{ 5, 6, 30, 20 }, kBins);
      for (int b = 0; b < kRange.n; b++)
        fail_unless_equals_uint64 (counts[b], wanted[std::size_t (kRange.first + b)]);
    }
}

/// A tensor has the range's planes alone: it is as large as they are, and fits where the whole does
/// not.
void run_memory (const char *backend)
{
  const Histogram part =
      Counter (on (backend, "bins=256 first-bin=16 n-bins=8")).count ("GRAY8", 640, 480);
  g_autoptr (GstBuffer) tensor = gst_integral_histogram_get_buffer (part.get (), nullptr);
  fail_unless_equals_uint64 (gst_buffer_get_size (tensor), 640 * 4 * 480 * 8);
  const auto fits = [&] (const std::string &range) {
    // 256 planes take 315 MB, 8 take 10 MB
    GstHarness *const h =
        harness (std::string ("cudaintegralhist tuning-time=0 bins=256 download=never "
                              "max-device-memory=60000000 cuda-device-ids=0 backend=")
                     + backend + range,
                 caps_of ("GRAY8", 640, 480).c_str ());
    const GstFlowReturn flow =
        gst_harness_push (h, noise (info_of (caps_of ("GRAY8", 640, 480)), 1));
    gst_harness_teardown (h);
    return flow == GST_FLOW_OK;
  };
  fail_unless (!fits (""));
  fail_unless (!fits (" first-bin=100 n-bins=128"));
  fail_unless (fits (" first-bin=16 n-bins=8"));
  fail_unless (fits (" first-bin=248"));
}

/// A file with a lookup table is read as for the whole.
void run_lut_location (const char *backend)
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

/// Returns what the element posts for a frame.
GstStructure *message_of (const std::string &properties)
{
  Pipeline pipeline ("videotestsrc num-buffers=1 pattern=snow ! video/x-raw,format=I420,width=64,"
                     "height=48,framerate=30/1 ! cudaintegralhist tuning-time=0 regions=\"0,0,64,"
                     "48;3,4,20,10\" "
                     + properties + " ! fakesink");
  pipeline.set_state (GST_STATE_PLAYING);
  g_autoptr (GstMessage) message = pipeline.message (GST_MESSAGE_ELEMENT);
  return gst_structure_copy (gst_message_get_structure (message));
}

/// Returns its numbers, region by region.
std::vector<std::vector<guint64>> numbers_of (const GstStructure *structure, const char *field)
{
  std::vector<std::vector<guint64>> numbers;
  const GValue *const regions = gst_structure_get_value (structure, field);
  fail_unless (regions, "no %s", field);
  for (guint i = 0; i < gst_value_array_get_size (regions); i++) {
    const GValue *const bins = gst_value_array_get_value (regions, i);
    auto &of_region = numbers.emplace_back ();
    for (guint b = 0; b < gst_value_array_get_size (bins); b++) {
      const GValue *const value = gst_value_array_get_value (bins, b);
      of_region.push_back (G_VALUE_HOLDS_UINT (value) ? g_value_get_uint (value)
                                                      : g_value_get_uint64 (value));
    }
  }
  return numbers;
}

/// Messages of two ranges have the counts of the whole's, and say which bins they are of.
void run_messages (const char *backend)
{
  for (const auto &[properties, field, bins] :
       { std::tuple ("bins=8", "counts", 8u),
         std::tuple ("feature=hsv quantization=4,2,2", "counts", 16u),
         std::tuple ("feature=gradient bins=9 weight=gradient soft=true", "weights", 9u) }) {
    const std::string settings = on (backend, properties);
    g_autoptr (GstStructure) whole = message_of (settings);
    g_autoptr (GstStructure) first = message_of (settings + " n-bins=3");
    g_autoptr (GstStructure) second = message_of (settings + " first-bin=3");
    fail_unless (!gst_structure_has_field (whole, "first-bin")
                 && !gst_structure_has_field (whole, "all-bins"));
    for (const auto &[message, from] : { std::pair (first, 0u), std::pair (second, 3u) }) {
      guint first_bin = 99, all_bins = 99;
      fail_unless (gst_structure_get (message, "first-bin", G_TYPE_UINT, &first_bin, "all-bins",
                                      G_TYPE_UINT, &all_bins, nullptr));
      fail_unless (first_bin == from && all_bins == bins);
    }
    auto joined = numbers_of (first, field);
    const auto rest = numbers_of (second, field);
    for (gsize i = 0; i < joined.size (); i++)
      joined[i].insert (joined[i].end (), rest[i].begin (), rest[i].end ());
    fail_unless (joined == numbers_of (whole, field) && joined.size () == 2
                     && joined[0].size () == bins,
                 "%s", settings.c_str ());
  }
}

/// Counts are asked of some bins. What compares histograms is refused, with what to do.
void run_questions (const char *backend)
{
  const Histogram part = Counter (on (backend, "bins=32 first-bin=8 n-bins=4")).count ("GRAY8");
  const GstVideoRectangle rectangle = { 1, 2, 20, 10 };
  const GstIntegralHistogramGrid grid = { .window_width = 9,
                                          .window_height = 7,
                                          .x = 0,
                                          .y = 0,
                                          .step_x = 5,
                                          .step_y = 3,
                                          .columns = 4,
                                          .rows = 4 };
  const gfloat model[4] = { 1, 2, 3, 4 };
  gfloat values[16];
  gint32 medians[16];
  const GstIntegralHistogramSearch search = { grid, &rectangle, 1, model, 0 };
  constexpr auto kMeasure = GST_INTEGRAL_HISTOGRAM_MEASURE_INTERSECTION;
  const std::function<gboolean (GError **)> asks[] = {
    [&] (GError **error) {
      return gst_integral_histogram_likelihoods (part.get (), &rectangle, 1, model, kMeasure,
                                                 values, nullptr, error);
    },
    [&] (GError **error) {
      return gst_integral_histogram_likelihood_maps (part.get (), &grid, 1, model, kMeasure, values,
                                                     nullptr, error);
    },
    [&] (GError **error) {
      return gst_integral_histogram_quantile_maps (part.get (), &grid, 1, 0.5, medians, error);
    },
    [&] (GError **error) {
      return gst_integral_histogram_vote_maps (part.get (), &search, 1, kMeasure, values, nullptr,
                                               error);
    },
  };
  for (const auto &ask : asks) {
    g_autoptr (GError) error = nullptr;
    fail_unless (!ask (&error));
    fail_unless (g_error_matches (error, GST_INTEGRAL_HISTOGRAM_ERROR,
                                  GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION),
                 "%s", error->message);
    fail_unless (strstr (error->message, "bins 8 to 11 of 32")
                     && strstr (error->message, "set first-bin=0 n-bins=0"),
                 "%s", error->message);
  }
}

/// Who wants the histogram of a feature never gets some of its bins.
void run_of_feature (const char *backend)
{
  const std::string some = on (backend, "feature=hue bins=18 first-bin=3 n-bins=4"),
                    all = on (backend, "feature=hue bins=18");
  const Buffer alone = Counter (some).pass ("RGB", kWidth, kHeight, 3);
  fail_unless (!gst_buffer_get_integral_histogram_meta_of_feature (
      alone.get (), GST_INTEGRAL_HISTOGRAM_FEATURE_HUE));
  fail_unless (gst_buffer_get_integral_histogram_meta (alone.get ()));
  const Buffer both =
      Counter (some + " ! cudaintegralhist tuning-time=0 " + all).pass ("RGB", kWidth, kHeight, 3);
  const GstIntegralHistogramMeta *const found = gst_buffer_get_integral_histogram_meta_of_feature (
      both.get (), GST_INTEGRAL_HISTOGRAM_FEATURE_HUE);
  fail_unless (found);
  check_range (found->histogram, { 0, 18 }, 18, "the whole");
}

/// Says how the first error of an element begins; nothing where the stream ends without one.
std::string error_of (const std::string &elements)
{
  const std::string line = "videotestsrc num-buffers=3 ! video/x-raw,format=I420,width=64,"
                           "height=48,framerate=30/1 ! "
                           + elements + " ! fakesink";
  Pipeline pipeline (line);
  pipeline.set_state (GST_STATE_PLAYING);
  g_autoptr (GstMessage) message = pipeline.message (GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS)
    return "";
  g_autoptr (GError) error = nullptr;
  gst_message_parse_error (message, &error, nullptr);
  return error->message;
}

/// Elements that compare histograms refuse some bins at once, and take all, wherever these are.
void run_consumers (const char *backend)
{
  const std::string hist = std::string ("cudaintegralhist tuning-time=0 backend=") + backend + " ",
                    some = hist + "bins=16 n-bins=8 ! ", all = hist + "bins=16 ! ";
  std::vector<std::string> consumers = {
    "integralhistlikelihood", "integralhistlikelihood feature=luma",
    "integralhisttrack method=fragments targets=5,6,20,15",
    "integralhisttrack method=fragments feature=luma targets=5,6,20,15"
  };
  if (GstElementFactory *const overlay = gst_element_factory_find ("integralhistoverlay")) {
    gst_object_unref (overlay);
    consumers.push_back ("integralhistoverlay regions=5,6,20,15");
    consumers.push_back ("integralhistoverlay regions=5,6,20,15 feature=luma");
    const std::string drawn = error_of (some + "integralhistoverlay");  // nothing to draw
    fail_unless (drawn.empty (), "%s", drawn.c_str ());
    const std::string boxes =
        error_of (some + "integralhistoverlay regions=5,6,20,15 histograms=false");
    fail_unless (boxes.empty (), "%s", boxes.c_str ());
  } else {
    g_print ("SKIP: charts: no element integralhistoverlay\n");
  }
  for (const std::string &consumer : consumers) {
    const std::string refused = error_of (some + consumer);
    fail_unless (refused.find ("bins 0 to 7 of 16") != std::string::npos
                     && refused.find ("set first-bin=0 n-bins=0 of cudaintegralhist")
                            != std::string::npos,
                 "%s: %s", consumer.c_str (), refused.c_str ());
    // all may come in some frames alone
    for (const std::string &before :
         { some + all, all + some, hist + "bins=16 interval=2 ! " + some }) {
      const std::string none = error_of (before + consumer);
      fail_unless (none.empty (), "%s%s: %s", before.c_str (), consumer.c_str (), none.c_str ());
    }
  }
  // of what the correlation filter wants
  const std::string gradients = hist + "feature=signed-gradient bins=18 weight=gradient soft=true ",
                    hsv = hist + "feature=hsv ",
                    luma = std::string ("cudaintegralimage tuning-time=0 backend=") + backend
                           + " ! integralhisttrack targets=5,6,20,15";
  for (const auto &[line, bins] :
       { std::pair (gradients + "! " + hsv + "first-bin=128 ! " + luma, "bins 128 to 255 of 256"),
         std::pair (gradients + "n-bins=17 ! " + hsv + "! " + luma, "bins 0 to 16 of 18") }) {
    const std::string refused = error_of (line);
    fail_unless (refused.find (bins) != std::string::npos, "%s: %s", line.c_str (),
                 refused.c_str ());
  }
  const std::string none = error_of (gradients + "! " + hsv + "! " + luma);
  fail_unless (none.empty (), "%s", none.c_str ());
}

}  // namespace

TEST_TIMEOUT (240);

/// A range that is none of the bins is one error when the element starts.
TEST (wrong_ranges)
{
  struct Wrong {
    const char *properties, *culprit, *remedy;
  };
  for (const auto &[properties, culprit, remedy] :
       { Wrong{ "first-bin=32", "first-bin=32 is beyond bins=32", "set first-bin=31 or less" },
         Wrong{ "bins=8 first-bin=8 n-bins=1", "beyond bins=8", "set first-bin=7 or less" },
         Wrong{ "bins=8 first-bin=5 n-bins=4", "first-bin=5 n-bins=4 reach beyond bins=8",
                "set n-bins=3 or less, or 0 for all from first-bin on" },
         Wrong{ "n-bins=33", "reach beyond bins=32", "set n-bins=32 or less" },
         Wrong{ "n-bins=257", "n-bins=257", "0 to 256" },
         Wrong{ "first-bin=256", "first-bin=256", "0 to 255" },
         Wrong{ "feature=hsv quantization=4,2,2 first-bin=16",
                "first-bin=16 is beyond feature=hsv quantization=4,2,2 (16 bins)",
                "set first-bin=15 or less" },
         Wrong{ "feature=rgb first-bin=200 n-bins=17",
                "reach beyond feature=rgb quantization=6,6,6 (216 bins)", "set n-bins=16" },
         Wrong{ "feature=uniform-lbp first-bin=59", "beyond feature=uniform-lbp (59 bins)",
                "set first-bin=58" },
         Wrong{ "bins=4 lut=0,1,2,3 first-bin=2 n-bins=3", "reach beyond bins=4",
                "set n-bins=2 or less" } }) {
    g_autoptr (GError) parse_error = nullptr;
    const std::string line = std::string ("cudaintegralhist backend=cpu ") + properties;
    GstElement *const element = gst_parse_launch (line.c_str (), &parse_error);
    fail_unless (element && !parse_error, "%s", properties);
    g_autoptr (GstBus) bus = gst_bus_new ();
    gst_element_set_bus (element, bus);
    fail_unless (gst_element_set_state (element, GST_STATE_PAUSED) == GST_STATE_CHANGE_FAILURE,
                 "%s", properties);
    g_autoptr (GstMessage) message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
    fail_unless (message, "%s", properties);
    g_autoptr (GError) error = nullptr;
    gst_message_parse_error (message, &error, nullptr);
    fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS));
    fail_unless (strstr (error->message, culprit) && strstr (error->message, remedy), "%s: %s",
                 properties, error->message);
    fail_unless (!gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR), "%s: two errors", properties);
    gst_element_set_bus (element, nullptr);
    gst_element_set_state (element, GST_STATE_NULL);
    gst_object_unref (element);
  }
}

/// A test on each backend; the loop's index is the backend's.
#define BACKEND_TEST(name) \
  TEST_EACH (name, std::size (kBackends)) \
  { \
    if (have (kBackends[__i__])) { \
      const OpenDevices open (kBackends[__i__]); \
      run_##name (kBackends[__i__]); \
    } \
  }

BACKEND_TEST (features)
BACKEND_TEST (counters)
BACKEND_TEST (strategies)
BACKEND_TEST (devices)
BACKEND_TEST (shards)
BACKEND_TEST (caps)
BACKEND_TEST (counted)
BACKEND_TEST (memory)
BACKEND_TEST (lut_location)
BACKEND_TEST (messages)
BACKEND_TEST (questions)
BACKEND_TEST (of_feature)
BACKEND_TEST (consumers)
