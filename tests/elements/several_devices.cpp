// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames are divided over several devices, and computed in rounds: cuda-device-ids,
// max-device-memory and task-bins. Tensors and answers are, bit for bit, those of the plain element
// with the serial algorithm. With the CPU the devices are simulated; with CUDA all devices take
// part.
//
// Environment:
//   INTHIST_CASES=small  few frames, and none of gigabytes, for compute-sanitizer
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>

#include <unistd.h>

#include "several_devices.hpp"
#include "test.hpp"

namespace {

/// Returns how many parts of frames each device has computed; empty if frames are not divided.
std::vector<guint64> parts_of (GstElement *element)
{
  std::vector<guint64> parts;
  g_autoptr (GstStructure) stats = nullptr;
  g_object_get (element, "stats", &stats, nullptr);
  if (const GValue *values = gst_structure_get_value (stats, "parts"))
    for (guint i = 0; i < gst_value_array_get_size (values); i++)
      parts.push_back (g_value_get_uint64 (gst_value_array_get_value (values, i)));
  return parts;
}

struct Case {
  int width, height, bins;
  const char *counter;
};

constexpr Case kCases[] = {
  { 64, 48, 32, "u32" },   { 61, 37, 17, "u32" },      { 61, 37, 17, "u16" },
  { 300, 301, 9, "u16" },  { 1, 1, 1, "u32" },         { 130, 70, 256, "u16" },
  { 7, 200, 3, "u32" },    { 350, 290, 2, "u16" },     { 33, 5, 100, "u32" },
  { 257, 129, 40, "u16" }, { 61, 37, 17, "u8-tiled" }, { 300, 301, 9, "u8-tiled" },
};

bool has_tiles (const Case &c)
{
  return strcmp (c.counter, "u8-tiled") == 0;
}

std::size_t tensor_bytes (const Case &c)
{
  if (has_tiles (c))
    return (c.width + 15) / 16 * 288 * ((c.height + 15) / 16) * c.bins;
  const std::size_t element = c.counter[1] == '3' ? 4 : 2;
  return (c.width * element + 63) / 64 * 64 * c.height * c.bins;
}

/// The last of some frames, which is always the same, from an element that has since been stopped.
/// `parts` counts the parts of all frames.
Buffer computed (const Case &c, const std::string &properties, guint64 *parts = nullptr,
                 guint frames = 1)
{
  Harness h (std::string ("cudaintegralhist bins=") + std::to_string (c.bins)
             + " counter=" + c.counter + " " + properties);
  const std::string caps = caps_of ("GRAY8", c.width, c.height);
  gst_harness_set_src_caps_str (h, caps.c_str ());
  const GstVideoInfo info = info_of (caps);
  GstBuffer *out = nullptr;
  for (guint left = frames; left > 0; left--) {
    gst_clear_buffer (&out);
    out = gst_harness_push_and_pull (h, noise (info, left));
  }
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));  // until all are computed
  if (parts) {
    g_autoptr (GstElement) element = gst_harness_find_element (h, "cudaintegralhist");
    const auto each = parts_of (element);
    *parts = std::accumulate (each.begin (), each.end (), guint64 (0));
  }
  return Buffer (out);
}

/// Compares every byte of rows; the bytes between rows have no defined value.
void check_same_tensor (GstIntegralHistogram *one, GstIntegralHistogram *other, const Case &c,
                        const std::string &what)
{
  const TensorCopy a (one, what), b (other, what);
  fail_unless (a.bytes.size () == b.bytes.size ());
  const Rows rows = rows_of (one);
  for (int bin = 0; bin < c.bins; bin++)
    for (guint row = 0; row < rows.n; row++) {
      const gsize at = bin * rows.plane_pitch + row * rows.pitch;
      fail_unless (memcmp (&a.bytes[at], &b.bytes[at], rows.used) == 0, "%s: bin %d, row %u differ",
                   what.c_str (), bin, row);
    }
  fail_unless_equals_uint64 (a.bytes.size (), c.bins * rows.plane_pitch);
}

/// Asks every kind of question, and puts all answers one after another.
std::vector<guint8> answers_of (GstIntegralHistogram *h, const Case &c)
{
  std::vector<guint8> all;
  const auto keep = [&] (const auto &values) {
    const auto *bytes = reinterpret_cast<const guint8 *> (values.data ());
    all.insert (all.end (), bytes, bytes + values.size () * sizeof values[0]);
  };
  g_autoptr (GError) error = nullptr;
  const auto check = [&] (gboolean answered) {
    fail_unless (answered, "%s", error ? error->message : "");
  };
  const int w = c.width, t = c.height;
  const GstVideoRectangle rectangles[] = {
    { 0, 0, w, t }, { w / 3, t / 4, w / 2 + 1, t / 2 + 1 }, { -5, -5, 9, 9 }, { w, t, 4, 4 }
  };
  std::vector<guint32> counts (4 * c.bins);
  check (gst_integral_histogram_regions (h, rectangles, 4, counts.data (), &error));
  keep (counts);
  std::vector<guint64> sums (4 * c.bins);
  check (gst_integral_histogram_regions_sums (h, rectangles, 4, sums.data (), &error));
  keep (sums);
  const GstIntegralHistogramGrid grid = { .window_width = w / 4 + 1,
                                          .window_height = t / 4 + 1,
                                          .x = -2,
                                          .y = -1,
                                          .step_x = 3,
                                          .step_y = 1,
                                          .columns = w / 3 + 1,
                                          .rows = t };
  const gsize windows = gsize (grid.columns) * grid.rows;
  std::vector<gfloat> model (c.bins), map (windows);
  for (int b = 0; b < c.bins; b++)
    model[b] = gfloat (1 + b % 5);
  GstIntegralHistogramBest best = {};
  for (int measure = GST_INTEGRAL_HISTOGRAM_MEASURE_INTERSECTION;
       measure <= GST_INTEGRAL_HISTOGRAM_MEASURE_LINEAR; measure++) {
    check (gst_integral_histogram_likelihood_maps (h, &grid, 1, model.data (),
                                                   GstIntegralHistogramMeasure (measure),
                                                   map.data (), &best, &error));
    keep (map);
    keep (std::vector{ best.value });
    keep (std::vector{ best.index });
  }
  std::vector<gint32> medians (windows);
  check (gst_integral_histogram_quantile_maps (h, &grid, 1, 0.5, medians.data (), &error));
  keep (medians);
  const GstVideoRectangle patches[] = { { 0, 0, 5, 7 }, { 3, 2, 9, 4 }, { -3, 6, 8, 8 } };
  std::vector<gfloat> models (3 * c.bins);
  std::iota (models.begin (), models.end (), 1.0f);
  const GstIntegralHistogramSearch search = { grid, patches, 3, models.data (), 1 };
  check (gst_integral_histogram_vote_maps (
      h, &search, 1, GST_INTEGRAL_HISTOGRAM_MEASURE_BHATTACHARYYA, map.data (), &best, &error));
  keep (map);
  keep (std::vector{ best.index });
  return all;
}

}  // namespace

/// Frames are divided in tasks of any size, and in rounds of any number, down to strips of rows.
BACKEND_TEST (exact)
{
  Random random (seed ());
  constexpr guint kFrames = 3;
  bool resident = false, rounds = false, strips = false;
  const bool small = g_strcmp0 (g_getenv ("INTHIST_CASES"), "small") == 0;
  for (const Case &c : small ? std::span (kCases).first (4) : std::span (kCases)) {
    const Buffer plain =
        computed (c, has_tiles (c) ? "backend=cpu" : "backend=cpu strategy=serial");
    Case in_full = c;
    in_full.counter = "u32";
    const auto wanted =
        answers_of (histogram_of (computed (in_full, "backend=cpu strategy=serial")), c);
    for (int i = 0; i < 12; i += small ? 3 : 1) {
      std::string how =
          std::string ("backend=") + backend + " cuda-device-ids=" + device_list (backend, random);
      if (i % 3 > 0)
        how += " task-bins=" + std::to_string (between (random, 1, c.bins + 3));
      // from a few rows of a bin, or a few bins in tiles, to more than the tensor
      if (i >= 4)
        how += " max-device-memory="
               + std::to_string (gsize (8000 + 2000 * c.width)
                                 + (has_tiles (c) ? 4 * tensor_bytes (c) / c.bins : 0)
                                 + gsize (tensor_bytes (c) * std::exp2 (i - 9)));
      if (i % 4 == 1)
        how += " download=eager";
      const std::string what = std::to_string (c.width) + "x" + std::to_string (c.height) + "x"
                               + std::to_string (c.bins) + " " + c.counter + " " + how;
      guint64 parts = 0;
      const Buffer shared = computed (c, how, &parts, kFrames);
      const guint shards = gst_integral_histogram_get_n_shards (histogram_of (shared));
      resident |= shards > 1;
      rounds |= shards == 1 && parts > kFrames;
      strips |= parts > kFrames * guint64 (c.bins);
      fail_unless (answers_of (histogram_of (shared), c) == wanted, "%s: other answers",
                   what.c_str ());
      check_same_tensor (histogram_of (plain), histogram_of (shared), c, what);
    }
  }
  fail_unless (small || (resident && rounds && strips), "resident %d, rounds %d, strips %d",
               resident, rounds, strips);
}

/// Each shard is a histogram of its own bins, and keeps the whole.
BACKEND_TEST (shards)
{
  const Case c = { 64, 48, 10, "u32" };
  const Buffer plain = computed (c, "backend=cpu");
  Buffer shared = computed (c, std::string ("cuda-device-ids=0 task-bins=4 backend=") + backend);
  guint32 all[10], some[10];
  fail_unless (gst_integral_histogram_region (histogram_of (plain), 5, 6, 30, 20, all, nullptr));
  fail_unless_equals_int (int (gst_integral_histogram_get_n_shards (histogram_of (plain))), 1);
  fail_unless_equals_int (int (gst_integral_histogram_get_n_shards (histogram_of (shared))), 3);
  std::vector<Histogram> shards;
  guint first_bin = 99;
  fail_unless (!gst_integral_histogram_get_shard (histogram_of (shared), 3, &first_bin));
  for (guint i = 0; i < 3; i++) {
    shards.emplace_back (gst_integral_histogram_get_shard (histogram_of (shared), i, &first_bin));
    fail_unless_equals_int (int (first_bin), int (4 * i));
  }
  shared.reset ();
  for (guint i = 0; i < 3; i++) {
    GstIntegralHistogram *const shard = shards[i].get ();
    fail_unless_equals_int (int (gst_integral_histogram_get_bins (shard)), i < 2 ? 4 : 2);
    fail_unless (gst_integral_histogram_region (shard, 5, 6, 30, 20, some, nullptr));
    fail_unless (std::equal (some, some + (i < 2 ? 4 : 2), all + 4 * i));
    fail_unless ((gst_integral_histogram_get_device_pointer (shard) != 0)
                 == (strcmp (backend, "cuda") == 0));
  }
  // shards are mapped too, and their memory serves groups of other sizes later
  const GstVideoInfo info = info_of (caps_of ("GRAY8", c.width, c.height));
  Harness harness (line_of ({ "cudaintegralhist", "bins=10", "", backend },
                            "cuda-device-ids=0 task-bins=4 max-tensors=1"));
  harness.set_caps (caps_of ("GRAY8", c.width, c.height));
  fail_unless (
      gst_integral_histogram_region (histogram_of (plain), 0, 0, c.width, c.height, all, nullptr));
  for (guint frame = 1; frame <= 4; frame++) {
    const Buffer out = harness.pass (noise (info, 1));
    fail_unless (gst_integral_histogram_get_device_pointer (histogram_of (out))
                 == 0);  // of several pieces
    for (guint i = 0; i < 3; i++) {
      const Histogram shard (
          gst_integral_histogram_get_shard (histogram_of (out), (i + frame) % 3, &first_bin));
      const TensorCopy tensor (shard.get ());
      const guint n = gst_integral_histogram_get_bins (shard.get ());
      for (guint b = 0; b < n; b++)  // the last element is the whole frame's count
        fail_unless (tensor.at (b, c.width - 1, c.height - 1) == all[first_bin + b]);
    }
  }
  // with one task the tensor is its only shard; a failed tensor has no device pointer
  const Buffer single =
      computed (c, std::string ("cuda-device-ids=0 task-bins=10 backend=") + backend);
  fail_unless ((gst_integral_histogram_get_device_pointer (histogram_of (single)) != 0)
               == (strcmp (backend, "cuda") == 0));
  g_setenv ("INTEGRALHIST_FAULT", "0:1", TRUE);
  Harness faulty (
      line_of ({ "cudaintegralhist", "bins=10", "", backend }, "cuda-device-ids=0 task-bins=10"));
  faulty.set_caps (caps_of ("GRAY8", c.width, c.height));
  const Buffer failed = faulty.pass (noise (info, 1));
  fail_unless (gst_integral_histogram_get_device_pointer (histogram_of (failed)) == 0);
  g_unsetenv ("INTEGRALHIST_FAULT");
  const Histogram whole (gst_integral_histogram_get_shard (histogram_of (plain), 0, &first_bin));
  fail_unless (whole.get () == histogram_of (plain) && first_bin == 0);
}

/// With download=never shards stay, and say so; what does not fit says what to set.
BACKEND_TEST (never)
{
  const Case c = { 64, 48, 10, "u32" };
  const Buffer kept =
      computed (c, std::string ("download=never cuda-device-ids=0 task-bins=4 backend=") + backend);
  guint32 counts[10];
  g_autoptr (GError) error = nullptr;
  fail_unless (gst_integral_histogram_region (histogram_of (kept), 5, 6, 30, 20, counts, nullptr));
  fail_unless (!gst_integral_histogram_get_buffer (histogram_of (kept), &error));
  fail_unless (g_error_matches (error, GST_INTEGRAL_HISTOGRAM_ERROR,
                                GST_INTEGRAL_HISTOGRAM_ERROR_NOT_DOWNLOADED));
}

/// Returns the error's text if the first frame ends in one.
static std::string refusal (const char *backend, const std::string &counter)
{
  const std::string caps = caps_of ("GRAY8", 640, 480);
  Harness harness (line_of ({ "cudaintegralhist", "bins=2", "", backend },
                            "cuda-device-ids=0 max-device-memory=1000000 counter=" + counter));
  harness.set_caps (caps);
  const GstFlowReturn flow = gst_harness_push (harness, noise (info_of (caps), 1));
  const std::string error = harness.error ();
  fail_unless (error.empty () == (flow == GST_FLOW_OK), "%s", gst_flow_get_name (flow));
  return error;
}

/// A bin of tiles that does not fit is not cut into strips, unlike a bin of another counter.
BACKEND_TEST (uncut_tiles)
{
  expect_none (refusal (backend, "u16"));
  expect_parts (refusal (backend, "u8-tiled"), { "one bin of", "max-device-memory is 976.56 KiB",
                                                 "set counter=u16, or raise max-device-memory" });
}

TEST_TIMEOUT (300);

/// Elements that may take any device are spread over the available devices. The next element takes
/// a device that another one has left.
TEST (spread)
{
  const int devices = cuda_devices ();
  if (devices == 0) {
    printf ("SKIP: spread: no CUDA device\n");
    return;
  }
  const std::string caps = caps_of ("GRAY8", 64, 48);
  const auto start = [&] (int &device) {
    auto h = std::make_unique<Harness> ("cudaintegralhist backend=cuda", caps);
    device =
        gst_integral_histogram_get_cuda_device (histogram_of (h->pass (noise (info_of (caps), 1))));
    return h;
  };
  std::vector<std::unique_ptr<Harness>> all;
  for (int i = 0; i < 2 * devices; i++) {
    int device = -1;
    all.push_back (start (device));
    fail_unless_equals_int (device, i % devices);
  }
  all[devices - 1] = nullptr;
  int device = -1;
  all.push_back (start (device));
  fail_unless_equals_int (device, devices - 1);
}

/// Pictures so large that they are uploaded once, and then copied from device to device if these
/// are near each other, with more frames than fit in flight.
BACKEND_TEST (large_pictures)
{
  constexpr Case kLarge = { 1203, 901, 7, "u32" };
  const Buffer plain = computed (kLarge, "backend=cpu strategy=serial", nullptr, 1);
  Random random (seed ());
  for (int i = 0; i < 6; i++) {
    const std::string how =
        std::string ("backend=") + backend + " task-bins=" + std::to_string (1 + i % 3)
        + " cuda-device-ids="
        + (strcmp (backend, "cpu") == 0 ? "0,1,2,3" : device_list (backend, random));
    const Buffer shared = computed (kLarge, how, nullptr, 9);
    check_same_tensor (histogram_of (plain), histogram_of (shared), kLarge, how);
  }
}

/// Planes that are farther apart than one of CUDA's copies of several pieces takes (2^31 - 1
/// bytes).
TEST (large_planes)
{
  constexpr Case kLarge = { 32764, 16448, 2, "u32" };
  const double wanted = 4.0 * double (tensor_bytes (kLarge)),
               there = double (sysconf (_SC_AVPHYS_PAGES)) * double (sysconf (_SC_PAGESIZE));
  if (g_strcmp0 (g_getenv ("INTHIST_CASES"), "small") == 0 || !have ("cuda"))
    return;
  if (there < wanted) {
    printf ("SKIP: large_planes: %.0f GB of memory are free, and it takes %.0f\n", there / 1e9,
            wanted / 1e9);
    return;
  }
  const Buffer plain = computed (kLarge, "backend=cpu");
  guint64 parts = 0;
  const Buffer strips = computed (kLarge, "backend=cuda max-device-memory=300000000", &parts);
  fail_unless (parts > 10, "%" G_GUINT64_FORMAT " parts", parts);
  check_same_tensor (histogram_of (plain), histogram_of (strips), kLarge, "in strips");
}
