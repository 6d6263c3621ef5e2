// SPDX-License-Identifier: LGPL-2.1-or-later
//
// strategy=auto: what is measured goes to a file in the user's cache and is used from there; what a file says is not believed. The cache is a folder of this
// program's own. What the device has a part in runs on CUDA too.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include <dlfcn.h>
#include <sys/stat.h>

#include <glib/gstdio.h>
#include <gst/integralhist/gstintegralhist.h>
#include <tuner.hpp>

#include "frames.hpp"

namespace {

namespace fs = std::filesystem;

constexpr int kWidth = 64, kHeight = 48;

fs::path
file ()
{
  return fs::path (g_get_user_cache_dir ()) / "gst-integralhist" / "tuning.ini";
}

/// Each test begins without a cache.
void
setup ()
{
  fs::remove_all (file ().parent_path ());
}

std::string
content ()
{
  std::ifstream stream (file (), std::ios::binary);
  return std::string (std::istreambuf_iterator<char> (stream), {});
}

void
write (const std::string &text)
{
  fs::create_directories (file ().parent_path ());
  std::ofstream (file (), std::ios::binary) << text;
}

/// What kElements[element] computes by default.
inthist::Shape
shape (int element)
{
  if (element == 0)
    return { kWidth, kHeight, 32, inthist::Type::u32, inthist::Content::bins, inthist::Type::u8 };
  return { kWidth, kHeight, 1, inthist::Type::u32, inthist::Content::powers, inthist::Type::u8 };
}

std::string
key (int element)
{
  return element == 0 ? "64x48x32-bins-u8-u32" : "64x48x1-powers-u8-u32";
}

inthist::Device
device_of (const std::string &backend)
{
  return backend == "cuda" ? inthist::Device::cuda : inthist::Device::cpu;
}

std::string
device (const char *backend = "cpu")
{
  return inthist::device_fingerprint (device_of (backend));
}

/// Size and time of the library's file, with something added.
std::string
build (int bytes = 0, int seconds = 0)
{
  Dl_info info;
  struct stat status;
  fail_unless (dladdr (reinterpret_cast<void *> (gst_integral_histogram_region_sums), &info) != 0 && stat (info.dli_fname, &status) == 0);
  return std::to_string (status.st_size + bytes) + " " + std::to_string (status.st_mtime + seconds);
}

std::string
group (const char *backend = "cpu")
{
  return device (backend) + " / " PACKAGE_VERSION " " + build ();
}

using Fields = std::vector<std::string>;

/// As if all candidates had been tried.
Fields
fields_of (const inthist::Choice &choice)
{
  return { choice.strategy->name, std::to_string (choice.tuning.tile), std::to_string (choice.tuning.threads), "1.5", "0" };
}

std::string
joined (const Fields &fields)
{
  std::string text;
  for (const std::string &field : fields)
    text += field + ";";
  return text;
}

std::string
entry (const inthist::Choice &choice)
{
  return joined (fields_of (choice));
}

/// A file with one group.
std::string
ini (const std::string &of, const std::string &key, const std::string &value)
{
  return "[" + of + "]\n" + key + "=" + value + "\n";
}

/// A candidate with a tile that is not the default.
inthist::Choice
another (int element)
{
  const auto candidates = inthist::candidates (inthist::Device::cpu, shape (element));
  const auto first = inthist::default_choice (inthist::Device::cpu, shape (element));
  for (const auto &choice : candidates)
    if (choice.strategy != first.strategy && choice.tuning.tile)
      return choice;
  fail ("there is nothing to choose from");
  return {};
}

struct Outcome {
  std::string tuning, strategy;
  int tile, threads;
  bool operator== (const Outcome &) const = default;
};

Outcome
outcome_of (GstElement *element)
{
  g_autoptr (GstStructure) stats = nullptr;
  g_object_get (element, "stats", &stats, nullptr);
  Outcome outcome = { gst_structure_get_string (stats, "tuning"), gst_structure_get_string (stats, "strategy"), -1, -1 };
  fail_unless (gst_structure_get (stats, "tile", G_TYPE_INT, &outcome.tile, "threads", G_TYPE_INT, &outcome.threads, nullptr));
  return outcome;
}

/// One frame through an element; whatever the choice, what comes out is right.
Outcome
run (int element, const std::string &properties = "", const char *backend = "cpu")
{
  g_autofree char *caps = g_strdup_printf ("video/x-raw,format=GRAY8,width=%d,height=%d,framerate=25/1", kWidth, kHeight);
  GstHarness *h = harness (std::string (kElements[element]) + " backend=" + backend + " " + properties, caps);
  GstVideoInfo info;
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  GstBuffer *in = noise (info, 1);
  guint64 wanted = 0;
  for (guint8 value : luma (info, in, 0, 0))
    wanted += element == 0 ? 1 : value;
  GstBuffer *out = gst_harness_push_and_pull (h, in);
  std::vector<guint64> sums (32);
  fail_unless (gst_integral_histogram_region_sums (gst_buffer_get_integral_histogram_meta (out)->histogram, 0, 0, kWidth, kHeight,
                                                   sums.data (), nullptr));
  guint64 sum = 0;
  for (guint64 one : sums)
    sum += one;
  fail_unless_equals_uint64 (sum, wanted);
  GstElement *self = gst_harness_find_element (h, kElements[element]);
  const Outcome outcome = outcome_of (self);
  gst_object_unref (self);
  gst_buffer_unref (out);
  gst_harness_teardown (h);
  return outcome;
}

}  // namespace

/// The loop's index is the element's and the backend's.
GST_START_TEST (measures_once)
{
  const int element = __i__ % 2;
  const char *backend = kBackends[__i__ / 2];
  if (!have (backend))
    return;
  Outcome outcome = run (element, "", backend);
  fail_unless (outcome.tuning == "measured", "%s", outcome.tuning.c_str ());
  const std::string kept = content ();
  fail_unless (kept.starts_with (std::string ("[") + group (backend) + "]\n"), "%s", kept.c_str ());
  const std::string line =
      key (element) + "=" + outcome.strategy + ";" + std::to_string (outcome.tile) + ";" + std::to_string (outcome.threads) + ";";
  const auto at = kept.find (line);
  fail_unless (at != std::string::npos, "no %s in %s", line.c_str (), kept.c_str ());
  double microseconds;
  unsigned unfinished;
  int length = 0;
  fail_unless (sscanf (&kept[at + line.size ()], "%lf;%u;%n", &microseconds, &unfinished, &length) == 2 && length > 0
                   && kept[at + line.size () + length] == '\n',
               "%s", kept.c_str ());
  fail_unless (microseconds > 0 && microseconds < 1e6 && unfinished == 0, "%s", kept.c_str ());
  outcome.tuning = "cached";
  fail_unless (run (element, "", backend) == outcome);
  fail_unless (content () == kept);
}
GST_END_TEST;

/// Every candidate is taken from the file, whether it is fast or not.
GST_START_TEST (cache_decides)
{
  const int element = __i__ % 2;
  const char *backend = kBackends[__i__ / 2];
  if (!have (backend))
    return;
  for (const auto &choice : inthist::candidates (device_of (backend), shape (element))) {
    write (ini (group (backend), key (element), entry (choice)));
    fail_unless (run (element, "", backend) == (Outcome{ "cached", choice.strategy->name, choice.tuning.tile, choice.tuning.threads }),
                 "%s", entry (choice).c_str ());
  }
}
GST_END_TEST;

/// What is missing, stale, broken or forged is measured, and the file is good afterwards. The loop's index is the element's, here and below.
void
expect_measured (int element, const std::string &what, const std::string &text)
{
  write (text);
  for (const char *expected : { "measured", "cached" }) {
    const std::string tuning = run (element).tuning;
    fail_unless (tuning == expected, "%s: %s, not %s", what.c_str (), tuning.c_str (), expected);
  }
}

GST_START_TEST (no_file_is_believed)
{
  const std::string good = entry (another (__i__)), name = key (__i__), version = device () + " / " PACKAGE_VERSION;
  const auto with = [&] (const std::string &value) { return ini (group (), name, value); };
  write (with (good));
  fail_unless (run (__i__).tuning == "cached");
  const std::pair<const char *, std::string> cases[] = {
    { "empty file", "" },
    { "garbage", "\x7f\x45LF no key file, \xff\xfe" },
    { "zeros", std::string (5000, '\0') },
    { "a key without a group", name + "=" + good },
    { "other shape", ini (group (), "65x48x32-bins-u8-u32", good) },
    { "other device", ini ("A processor of long ago, 1 threads / " PACKAGE_VERSION " " + build (), name, good) },
    { "other driver", ini (device () + " and more / " PACKAGE_VERSION " " + build (), name, good) },
    { "other version", ini (device () + " / 0.0.1 " + build (), name, good) },
    { "another build of other size", ini (version + " " + build (1, 0), name, good) },
    { "an older build", ini (version + " " + build (0, -1), name, good) },
    { "a newer build", ini (version + " " + build (0, 1), name, good) },
    { "no build", ini (version, name, good) },
    { "no version", ini (device (), name, good) },
    { "no value", with ("") },
    { "no last field", with (good.substr (0, good.size () - 2)) },
    { "one more field", with (good + "0;") },
    { "long value", with (std::string (1 << 20, 'x') + good) },
    { "many fields", with (good + std::string (1 << 20, ';')) },
  };
  for (const auto &[what, text] : cases)
    expect_measured (__i__, what, text);
}
GST_END_TEST;

/// Every case differs from an entry that is taken in one field.
GST_START_TEST (no_field_is_believed)
{
  static const std::vector<std::string> kWrong[] = {
    { "", "quicksort", "wf-tis", "serial", "rows", "WAVEFRONT", "wavefront ", "\xff\xfe" },
    { "", "-1", "1", "12345", "0x40", "64x", "64.0", "+64", " 64", "sixty-four", "99999999999999999999" },
    { "", "-1", "64", "1024", "12345", "0x0", "0x", "0.0", " 0", "none", "99999999999999999999" },
    { "", "0", "0.0", "-0", "-1.5", "nan", "-nan", "inf", "-inf", "infinity", "1e999", "1.5x", "0x1p3", " 1.5", "+1.5", "1,5", "soon" },
    { "", "-1", "1.5", "0x", " 0", "+0", "nan", "inf", "soon", "99999999999999999999" },
  };
  const inthist::Choice choices[] = { another (__i__), inthist::default_choice (inthist::Device::cpu, shape (__i__)) };
  for (const inthist::Choice &choice : choices) {
    const Fields good = fields_of (choice);
    write (ini (group (), key (__i__), joined (good)));
    fail_unless (run (__i__) == (Outcome{ "cached", choice.strategy->name, choice.tuning.tile, choice.tuning.threads }));
    for (std::size_t i = 0; i < good.size (); i++)
      for (const std::string &wrong : kWrong[i]) {
        Fields fields = good;
        fields[i] = wrong;
        if (fields != good)
          expect_measured (__i__, joined (fields), ini (group (), key (__i__), joined (fields)));
      }
  }
  // all of a candidate of the other device, and of one that is never chosen by itself
  for (const char *other : { "wf-tis;64;1024;1.5;0;", "strip;0;0;1.5;0;", "serial;0;0;1.5;0;" })
    expect_measured (__i__, other, ini (group (), key (__i__), other));
}
GST_END_TEST;

/// An entry for which there was too little time to try all holds until there is more.
GST_START_TEST (more_time)
{
  const auto choice = another (__i__);
  Fields fields = fields_of (choice);
  fields.back () = "100";
  const std::string text = ini (group (), key (__i__), joined (fields));
  write (text);
  for (const char *time : { "tuning-time=100", "tuning-time=99", "tuning-time=1" })
    fail_unless (run (__i__, time) == (Outcome{ "cached", choice.strategy->name, choice.tuning.tile, choice.tuning.threads }), "%s", time);
  fail_unless (content () == text);
  for (const char *time : { "tuning-time=101", "" }) {
    write (text);
    fail_unless (run (__i__, time).tuning == "measured", "%s", time);
    fail_unless (content () != text);
  }
  fail_unless (run (__i__, "tuning-time=10000").tuning == "cached");
}
GST_END_TEST;

/// What was cut short says so: a millisecond is too little for a frame of this size.
GST_START_TEST (too_little_time)
{
  const auto tuning = [] (const char *time) {
    GstHarness *h = harness (std::string ("cudaintegralhist backend=cpu ") + time, "video/x-raw,format=GRAY8,width=1920,height=1080");
    gst_buffer_unref (gst_harness_push_and_pull (h, gst_harness_create_buffer (h, 1920 * 1080)));
    GstElement *self = gst_harness_find_element (h, "cudaintegralhist");
    const std::string text = outcome_of (self).tuning;
    gst_object_unref (self);
    gst_harness_teardown (h);
    return text;
  };
  fail_unless (tuning ("tuning-time=1") == "measured");
  fail_unless (content ().ends_with (";1;\n"), "%s", content ().c_str ());
  fail_unless (tuning ("tuning-time=1") == "cached");
  fail_unless (tuning ("tuning-time=2") == "measured");
  fail_unless (content ().ends_with (";2;\n"), "%s", content ().c_str ());
}
GST_END_TEST;

/// Writing keeps what others wrote, other devices too, and drops what this device measured with another driver or version.
GST_START_TEST (merges)
{
  const std::string name = device ().substr (0, device ().find (','));
  write (ini (group (), "1x1x1-bins-u8-u32", "rows;0;0;7;0;") + ini ("Some GPU, 99 SMs, driver 1 / 0.0.1", "a", "b")
         + ini (device () + " / 0.0.1", "c", "d") + ini (name + ", another driver / " PACKAGE_VERSION, "e", "f"));
  run (__i__);
  g_autoptr (GKeyFile) keys = g_key_file_new ();
  fail_unless (g_key_file_load_from_file (keys, file ().c_str (), G_KEY_FILE_NONE, nullptr));
  gsize n;
  g_auto (GStrv) groups = g_key_file_get_groups (keys, &n);
  fail_unless_equals_int (int (n), 2);
  fail_unless (g_key_file_has_key (keys, group ().c_str (), "1x1x1-bins-u8-u32", nullptr));
  fail_unless (g_key_file_has_key (keys, group ().c_str (), key (__i__).c_str (), nullptr));
  fail_unless (g_key_file_has_key (keys, "Some GPU, 99 SMs, driver 1 / 0.0.1", "a", nullptr));
}
GST_END_TEST;

/// A folder that cannot be made, and a file that cannot be replaced: measured each time, and nothing else.
GST_START_TEST (unwritable)
{
  std::ofstream (file ().parent_path ()) << "in the way";
  for (int i = 0; i < 2; i++)
    fail_unless (run (__i__).tuning == "measured");
  fs::remove (file ().parent_path ());
  fs::create_directories (file () / "in the way");
  for (int i = 0; i < 2; i++)
    fail_unless (run (__i__).tuning == "measured");
}
GST_END_TEST;

/// Without time the built-in choice, and with a strategy that one; neither looks at the cache, or writes it.
GST_START_TEST (without_measuring)
{
  const auto first = inthist::default_choice (inthist::Device::cpu, shape (__i__));
  const auto other = another (__i__);
  for (const bool cached : { false, true }) {
    if (cached)
      write (ini (group (), key (__i__), entry (other)));
    const std::string before = content ();
    fail_unless (run (__i__, "tuning-time=0") == (Outcome{ "default", first.strategy->name, first.tuning.tile, first.tuning.threads }));
    fail_unless (run (__i__, "strategy=serial") == (Outcome{ "set", "serial", 0, 0 }));
    fail_unless (content () == before && fs::exists (file ()) == cached);
  }
}
GST_END_TEST;

/// Fails where the element's log has no such line.
static void
hear (const char *pattern, int element, const std::string &properties)
{
  static std::string log;
  log.clear ();
  const GstLogFunction listen = [] (GstDebugCategory *category, GstDebugLevel, const gchar *, const gchar *, gint, GObject *,
                                    GstDebugMessage *message, gpointer) {
    if (g_str_has_prefix (gst_debug_category_get_name (category), "cudaintegral"))
      log += std::string (gst_debug_message_get (message)) + "\n";
  };
  gst_debug_set_active (TRUE);
  gst_debug_set_threshold_from_string ("cudaintegral*:4", FALSE);
  gst_debug_remove_log_function (gst_debug_log_default);
  gst_debug_add_log_function (listen, nullptr, nullptr);
  run (element, properties);
  gst_debug_remove_log_function (listen);
  fail_unless (log.find (pattern) != std::string::npos, "no \"%s\" in: %s", pattern, log.c_str ());
}

/// The log says what was chosen and why.
GST_START_TEST (says_why)
{
  struct Case {
    const char *properties, *pattern;
  };
  for (const Case &c : { Case{ "tuning-time=0", ": built-in" }, Case{ "", ": measured in " }, Case{ "", ": from the cache " },
                         Case{ "strategy=serial", "strategy serial" } })
    hear (c.pattern, __i__, c.properties);
  write ("garbage");
  hear ("was of no use", __i__, "");
  setup ();
  std::ofstream (file ().parent_path ()) << "in the way";
  hear ("could not be written", __i__, "");
  fs::remove (file ().parent_path ());
}
GST_END_TEST;

/// Of two elements that start at once with one shape, one measures and the other waits for it; with two shapes both do, and both are kept.
GST_START_TEST (two_at_once)
{
  for (const int other : { 0, 1 }) {
    setup ();
    g_autofree char *line = g_strdup_printf ("videotestsrc num-buffers=2 ! video/x-raw,format=GRAY8,width=%d,height=%d ! tee name=t  t. ! "
                                             "queue ! %s name=a backend=cpu ! fakesink "
                                             "t. ! queue ! %s name=b backend=cpu ! fakesink",
                                             kWidth, kHeight, kElements[0], kElements[other]);
    GstElement *pipeline = gst_parse_launch (line, nullptr);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    GstBus *bus = gst_element_get_bus (pipeline);
    GstMessage *message = gst_bus_timed_pop_filtered (bus, 20 * GST_SECOND, GstMessageType (GST_MESSAGE_ERROR | GST_MESSAGE_EOS));
    fail_unless (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS);
    gst_message_unref (message);
    int measured = 0;
    for (const char *name : { "a", "b" }) {
      GstElement *element = gst_bin_get_by_name (GST_BIN (pipeline), name);
      const std::string tuning = outcome_of (element).tuning;
      measured += tuning == "measured";
      fail_unless (tuning == "measured" || tuning == "cached", "%s", tuning.c_str ());
      gst_object_unref (element);
    }
    fail_unless_equals_int (measured, 1 + other);
    fail_unless (content ().find (key (0) + "=") != std::string::npos
                 && (content ().find (key (1) + "=") != std::string::npos) == bool (other));
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (bus);
    gst_object_unref (pipeline);
  }
}
GST_END_TEST;

/// What a frame of 1920x1080 with 4 bins takes here, in seconds: to have a tensor and to give it back, and of the slowest candidate's first run.
struct Costs {
  double tensor, candidate = 0;
};

static Costs
costs ()
{
  const inthist::Shape shape = { 1920, 1080, 4 };
  const auto layout = inthist::layout_of (shape);
  const auto aligned = [] (std::size_t bytes) {
    return std::unique_ptr<std::uint8_t, void (*) (void *)> (
        static_cast<std::uint8_t *> (std::aligned_alloc (256, (bytes + 256) / 256 * 256)), std::free);
  };
  const auto timed = [] (auto &&body) {
    const auto start = std::chrono::steady_clock::now ();
    body ();
    return std::chrono::duration<double> (std::chrono::steady_clock::now () - start).count ();
  };
  const std::size_t stride = inthist::bin_stride (shape.width), bytes = inthist::tensor_bytes (shape, layout);
  const double for_tensor = timed ([&] {
    const auto memory = aligned (bytes);
    for (std::size_t i = 0; i < bytes; i += 4096)
      static_cast<volatile std::uint8_t *> (memory.get ())[i] = 0;
  });
  const auto pixels = aligned (stride * shape.height), tensor = aligned (bytes);
  std::memset (pixels.get (), 0, stride * shape.height);
  double most = 0;
  for (const auto &choice : inthist::candidates (inthist::Device::cpu, shape)) {
    const auto workspace = aligned (choice.strategy->workspace_bytes (shape, choice.tuning));
    most = std::max (
        most, timed ([&] {
          fail_unless (inthist::run (*choice.strategy,
                                     { shape, layout, { pixels.get (), stride }, tensor.get (), workspace.get (), nullptr, choice.tuning })
                       == 0);
        }));
  }
  return { for_tensor, most };
}

/// A stop in the midst of measuring waits for it, and for the tensor that it is measured with, but not longer. The frame is in the element and has not left it, and what was measured is not written before the stop.
GST_START_TEST (stop_while_measuring)
{
  constexpr double kBudget = 0.3, kSlack = 0.3;  // seconds; of a machine that does something else
  static std::atomic<int> in, out;
  in = out = 0;
  GstElement *pipeline = gst_parse_launch ("videotestsrc ! video/x-raw,format=GRAY8,width=1920,height=1080 ! "
                                           "cudaintegralhist name=e bins=4 backend=cpu tuning-time=300 ! fakesink async=false",
                                           nullptr);
  GstElement *element = gst_bin_get_by_name (GST_BIN (pipeline), "e");
  for (const auto &[name, count] : { std::pair ("sink", &in), std::pair ("src", &out) }) {
    GstPad *pad = gst_element_get_static_pad (element, name);
    gst_pad_add_probe (
        pad, GST_PAD_PROBE_TYPE_BUFFER,
        [] (GstPad *, GstPadProbeInfo *, gpointer counter) {
          ++*static_cast<std::atomic<int> *> (counter);
          return GST_PAD_PROBE_OK;
        },
        count, nullptr);
    gst_object_unref (pad);
  }
  const Costs cost = costs ();
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  for (int i = 0; i < 5000 && in == 0; i++)
    g_usleep (1000);
  fail_unless_equals_int (in, 1);
  g_usleep (5000);
  fail_unless (out == 0 && !fs::exists (file ()), "measured before the stop");
  const gint64 start = g_get_monotonic_time ();
  gst_element_set_state (pipeline, GST_STATE_NULL);
  const double took = double (g_get_monotonic_time () - start) / 1e6;
  fail_unless (content ().find ("1920x1080x4-bins-u8-u32=") != std::string::npos, "nothing was measured");
  fail_unless (took < kBudget + cost.candidate + cost.tensor + kSlack, "%.3f s; a candidate takes %.3f s, a tensor %.3f s", took,
               cost.candidate, cost.tensor);
  gst_object_unref (element);
  gst_object_unref (pipeline);
}
GST_END_TEST;

static Suite *
tuning_suite ()
{
  Suite *suite = suite_create ("tuning");
  TCase *tests = tcase_create ("general");
  tcase_set_timeout (tests, 120);
  suite_add_tcase (suite, tests);
  tcase_add_checked_fixture (tests, setup, nullptr);
  tcase_add_loop_test (tests, measures_once, 0, 4);
  tcase_add_loop_test (tests, cache_decides, 0, 4);
  tcase_add_loop_test (tests, no_file_is_believed, 0, 2);
  tcase_add_loop_test (tests, no_field_is_believed, 0, 2);
  tcase_add_loop_test (tests, more_time, 0, 2);
  tcase_add_test (tests, too_little_time);
  tcase_add_loop_test (tests, merges, 0, 2);
  tcase_add_loop_test (tests, unwritable, 0, 2);
  tcase_add_loop_test (tests, without_measuring, 0, 2);
  tcase_add_loop_test (tests, says_why, 0, 2);
  tcase_add_test (tests, two_at_once);
  tcase_add_test (tests, stop_while_measuring);
  return suite;
}

int
main (int argc, char **argv)
{
  // before GLib has a look at it
  std::string cache = (fs::temp_directory_path () / "inthist-tuning-XXXXXX").string ();
  if (!g_mkdtemp (cache.data ()))
    return 1;
  g_setenv ("XDG_CACHE_HOME", cache.c_str (), TRUE);
  gst_check_init (&argc, &argv);
  const int failed = gst_check_run_suite (tuning_suite (), "tuning", __FILE__);
  fs::remove_all (cache);
  return failed;
}
