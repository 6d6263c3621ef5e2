// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Both elements run in pipelines: states, flushes, seeks, new caps, EOS, slow consumers. Every
// histogram or table is compared with pixels counted or added one by one, and after each test the
// leaks tracer knows of nothing that is left.
//
// Environment:
//   INTHIST_TEST_DATA=folder  where vtest.avi is
//   INTHIST_STRESS_FRAMES=n   frames of each pipeline of the stress test (3000)
//   INTHIST_CASES=small       a fifth of the starts and of those frames, for sanitizers
#include <cstdio>

#include <sys/wait.h>
#include <unistd.h>

#include "pipelines.hpp"

#include "leaks.hpp"  // last: it has macros with names of the standard library

namespace {

/// The elements of one backend follow each other.
constexpr Setup kSetups[] = {
  { "cudaintegralhist", "bins=32", "bins=7 counter=u16", "cpu" },
  { "cudaintegralimage", "squared=true", "squared=false", "cpu" },
  { "cudaintegralhist", "bins=32 cuda-device-ids=0,1,2 task-bins=5",
    "bins=7 counter=u16 cuda-device-ids=1,3", "cpu" },  // shared out
  { "cudaintegralhist", "bins=32 max-device-memory=600000",
    "bins=7 counter=u16 max-device-memory=150000", "cpu" },  // in rounds
  { "cudaintegralhist", "bins=32", "bins=7 counter=u16", "cuda" },
  { "cudaintegralimage", "squared=true", "squared=false", "cuda" },
  { "cudaintegralhist", "bins=32 cuda-device-ids=0 task-bins=5",
    "bins=7 counter=u16 cuda-device-ids=0 task-bins=2", "cuda" },
  { "cudaintegralhist", "bins=32 max-device-memory=600000",
    "bins=7 counter=u16 max-device-memory=150000", "cuda" },
};

constexpr int kStarts = 200, kRestarts = 30, kSeeks = 20, kBlockedStops = 30;
constexpr guint kEosFrames = 100;
constexpr GstClockTime kShort = 200 * GST_MSECOND;
constexpr gint64 kAtOnce = G_USEC_PER_SEC;

guint stress_frames ()
{
  const char *text = g_getenv ("INTHIST_STRESS_FRAMES");
  return text ? guint (g_ascii_strtoull (text, nullptr, 0)) : guint (repeats (3000));
}

/// Watches the log domains that gst_check_init() does not.
void fail_on_critical (const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer)
{
  fail_if (level & (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING), "%s: %s", domain, message);
}

/// Tells whether a pipeline can start with CUDA, in a process of its own: a driver does not survive
/// the fork of each test.
bool can_start_cuda ()
{
  const pid_t child = fork ();
  if (child == 0) {
    GstElement *element = gst_element_factory_make ("cudaintegralhist", nullptr);
    if (!element)
      _exit (1);
    gst_util_set_object_arg (G_OBJECT (element), "backend", "cuda");
    _exit (gst_element_set_state (element, GST_STATE_PAUSED) == GST_STATE_CHANGE_FAILURE);
  }
  int status = -1;
  return child > 0 && waitpid (child, &status, 0) == child && status == 0;
}

bool have_cuda ()
{
  static const bool cuda = can_start_cuda ();
  return cuda;
}

void expect_no_criticals ()
{
  g_log_set_default_handler (fail_on_critical, nullptr);
  // appsink 1.22 logs a critical message if a flush finds caps in its queue while the application
  // holds a sample. The sample is right.
  gst_check_add_log_filter (
      "GStreamer", G_LOG_LEVEL_CRITICAL,
      g_regex_new ("^gst_sample_set_caps: .*gst_sample_is_writable", {}, {}, nullptr), nullptr,
      nullptr, nullptr);
}

}  // namespace

/// A test of each `setup` that this machine can run.
#define SETUP_TEST(name) \
  static void name##_of (const Setup &setup); \
  TEST_EACH (name, std::size (kSetups) / (have_cuda () ? 1 : 2)) \
  { \
    name##_of (kSetups[__i__]); \
  } \
  static void name##_of (const Setup &setup)

TEST_TIMEOUT (120 + stress_frames () / 100);
TEST_ENVIRONMENT (WatchedLeaks);
TEST_FIXTURE (expect_no_criticals, fail_on_leaks);

// states

SETUP_TEST (starts)
{
  Random random (seed ());
  Pipeline pipeline (
      snow (setup, "", "width=160,height=120", "regions=\"3,5,40,50\"", "max-buffers=4"));
  for (int i = 0; i < repeats (kStarts); i++) {
    pipeline.set_state (GST_STATE_PLAYING);
    std::vector<Sample> samples;
    for (int n = between (random, 1, 3); n > 0; n--)
      samples.push_back (pipeline.pull ());
    const bool before = random () % 2;
    if (before)
      check_all (samples, random);
    pipeline.set_state (GST_STATE_NULL);
    if (!before)
      check_all (samples, random);
  }
}

SETUP_TEST (restarts)
{
  Random random (seed ());
  std::vector<Sample> held;
  {
    Pipeline pipeline (snow (setup, "", "width=160,height=120", "async-depth=4", "max-buffers=4"));
    for (int i = 0; i < kRestarts; i++) {
      pipeline.set_state (GST_STATE_PLAYING);
      held.push_back (pipeline.pull ());
      g_usleep (random () % 20000);
      pipeline.set_state (GST_STATE_READY);
    }
  }
  check_all (held, random);
}

/// The histograms of a pipeline that is no more.
SETUP_TEST (outlive)
{
  Random random (seed ());
  std::vector<Sample> held;
  Histogram histogram;
  Picture picture;
  {
    Pipeline pipeline (snow (setup, "", "width=320,height=240", "async-depth=8", "max-buffers=8"));
    pipeline.set_state (GST_STATE_PLAYING);
    for (int i = 0; i < 5; i++)
      held.push_back (pipeline.pull ());
    const Sample sample = pipeline.pull ();
    histogram.reset (gst_integral_histogram_ref (meta_of (sample)->histogram));
    picture = picture_of (sample);
  }
  check_all (held, random);
  expect_none (complaint (histogram.get (), picture, random), "without its buffer");
}

// flushes and seeks

SETUP_TEST (seeks)
{
  Random random (seed ());
  Pipeline pipeline (snow (setup, "", "width=160,height=120", "async-depth=4 regions=\"0,0,50,50\"",
                           "max-buffers=4"));
  pipeline.set_state (GST_STATE_PLAYING);
  Consumer consumer (pipeline.sink, seed ());
  for (int i = 0; i < kSeeks; i++) {
    g_usleep (random () % 60000);
    fail_unless (pipeline.seek (random () % 100 * GST_SECOND));
    const guint before = consumer.frames;
    for (int ms = 0; consumer.frames < before + 2; ms++) {
      fail_unless (ms < 20000, "nothing comes after seek %d", i);
      g_usleep (1000);
    }
  }
  fail_unless (consumer.finish () > 2 * kSeeks);
}

/// The element waits at max-tensors; flush and stop end the wait at once, and a release ends it
/// too.
SETUP_TEST (blocked)
{
  Random random (seed ());
  Pipeline pipeline (snow (setup, "", "width=64,height=48", "max-tensors=2", "async=false"));
  for (int i = 0; i < kBlockedStops; i++) {
    pipeline.set_state (GST_STATE_PLAYING);
    std::vector<Sample> held;
    const auto fill = [&] {
      while (held.size () < 2)
        held.push_back (pipeline.pull ());
      if (i == 0)
        fail_unless (pipeline.try_pull (kShort) == nullptr, "the element goes on at the limit");
      else
        g_usleep (random () % 3000);
    };
    const auto in_time = [&] (const char *what, auto &&call) {
      const gint64 start = g_get_monotonic_time ();
      call ();
      const gint64 took = g_get_monotonic_time () - start;
      fail_unless (took < kAtOnce, "%s took %" G_GINT64_FORMAT " ms", what, took / 1000);
    };

    fill ();
    in_time ("a flush", [&] { fail_unless (pipeline.seek (i * GST_SECOND)); });
    if (i == 0)
      fail_unless (pipeline.try_pull (kShort) == nullptr,
                   "the element goes on at the limit after a flush");
    check_all (held, random);
    held.clear ();
    for (int n = 0; n < 10; n++)
      pipeline.pull ();
    fill ();
    in_time ("NULL", [&] { pipeline.set_state (GST_STATE_NULL); });
    check_all (held, random);
  }
}

// caps

SETUP_TEST (caps)
{
  Random random (seed ());
  struct Held {
    Histogram histogram;
    Picture picture;
  };
  std::vector<Held> held;
  {
    Harness harness (line_of (setup, "async-depth=4"));
    const std::string all_caps[] = { caps_of ("GRAY8", 64, 48), caps_of ("GRAY8", 101, 37),
                                     caps_of ("RGB", 101, 37),  caps_of ("NV12", 320, 16),
                                     caps_of ("I420", 7, 201),  caps_of ("GRAY8", 1, 1) };
    for (int round = 0; round < 4; round++)
      for (const std::string &caps : all_caps) {
        const GstVideoInfo info = info_of (caps);
        harness.set_caps (caps);
        for (int i = 0; i < 3; i++) {
          const Buffer buffer = harness.pass (noise (info, random ()));
          const GstIntegralHistogramMeta *meta =
              gst_buffer_get_integral_histogram_meta (buffer.get ());
          fail_unless (meta != nullptr, "%s: no meta", caps.c_str ());
          fail_unless_equals_int (meta->width, info.width);
          fail_unless_equals_int (meta->height, info.height);
          held.push_back ({ Histogram (gst_integral_histogram_ref (meta->histogram)),
                            picture_of (buffer.get (), info) });
          const Held &one = held[random () % held.size ()];
          expect_none (complaint (one.histogram.get (), one.picture, random), caps);
        }
      }
  }
  for (const Held &one : held) {
    expect_none (complaint (one.histogram.get (), one.picture, random), "after the element");
  }
}

// EOS

/// Reads what a message says of its region i, as the planes do.
Sums sums_of (const GstStructure *structure, guint i)
{
  const auto element = [] (const GValue *list, guint n) {
    fail_unless (list && GST_VALUE_HOLDS_ARRAY (list) && n < gst_value_array_get_size (list));
    return gst_value_array_get_value (list, n);
  };
  Sums sums;
  if (gst_structure_has_name (structure, "integral-image")) {
    for (const char *field : { "sum", "sum-of-squares" })
      sums.push_back (g_value_get_uint64 (element (gst_structure_get_value (structure, field), i)));
    return sums;
  }
  const GValue *counts = element (gst_structure_get_value (structure, "counts"), i);
  for (guint b = 0; b < gst_value_array_get_size (counts); b++)
    sums.push_back (g_value_get_uint (element (counts, b)));
  return sums;
}

static bool is_ours (GstMessage *message)
{
  return gst_message_has_name (message, "integral-histogram")
         || gst_message_has_name (message, "integral-image");
}

SETUP_TEST (eos)
{
  const GstVideoRectangle regions[] = { { 3, 4, 20, 30 },
                                        { -5, -5, 1000, 1000 },
                                        { 150, 110, 50, 50 } };
  Pipeline pipeline (snow (
      setup, "num-buffers=" + std::to_string (kEosFrames), "width=160,height=120",
      "async-depth=8 regions=\"3,4,20,30; -5,-5,1000,1000; 150,110,50,50\"", "wait-on-eos=false"));
  pipeline.set_state (GST_STATE_PLAYING);
  guint64 messages = 0;
  for (bool eos = false; !eos;) {
    g_autoptr (GstMessage) message = pipeline.message (GST_MESSAGE_EOS | GST_MESSAGE_ELEMENT);
    eos = GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS;
    if (!eos && is_ours (message)) {
      const GstStructure *structure = gst_message_get_structure (message);
      const Sample sample = pipeline.pull ();
      const Picture picture = picture_of (sample);
      guint64 number, timestamp;
      fail_unless (gst_structure_get (structure, "frame", G_TYPE_UINT64, &number, "timestamp",
                                      G_TYPE_UINT64, &timestamp, nullptr));
      fail_unless_equals_uint64 (number, messages++);
      fail_unless_equals_uint64 (timestamp, GST_BUFFER_PTS (gst_sample_get_buffer (sample.get ())));
      GstIntegralHistogram *histogram = meta_of (sample)->histogram;
      for (guint i = 0; i < G_N_ELEMENTS (regions); i++)
        fail_unless (sums_of (structure, i)
                         == added (picture, regions[i],
                                   gst_integral_histogram_get_content (histogram),
                                   gst_integral_histogram_get_bins (histogram)),
                     "frame %d, region %u", int (number), i);
    }
  }
  fail_unless_equals_uint64 (messages, kEosFrames);
  fail_unless (gst_bus_pop_filtered (pipeline.bus, GST_MESSAGE_ELEMENT) == nullptr,
               "a message comes after EOS");
}

// consumers

/// Two pipelines at once, with consumers that are slow and keep what they like; the second is
/// flushed at random. The first loses nothing.
SETUP_TEST (stress)
{
  const guint frames = stress_frames ();
  Random random (seed ());
  Pipeline first (snow (setup, "num-buffers=" + std::to_string (frames), "width=64,height=48",
                        "async-depth=1", "max-buffers=4"));
  const Setup other = { setup.element, setup.other_properties, nullptr, setup.backend };
  Pipeline second (
      snow (other, "", "width=64,height=48", "async-depth=4 max-tensors=20", "max-buffers=4"));
  first.set_state (GST_STATE_PLAYING);
  second.set_state (GST_STATE_PLAYING);
  Consumer first_consumer (first.sink, seed ()), second_consumer (second.sink, seed () + 1);
  const auto wait_for = [&] (const char *which, const Consumer &consumer, auto &&meanwhile) {
    guint before = 0;
    for (int idle = 0; consumer.frames < frames; idle = consumer.frames == before ? idle + 1 : 0) {
      fail_unless (idle < 400, "nothing comes from the %s after %u frames", which, before);
      before = consumer.frames;
      g_usleep (random () % 50000);
      meanwhile ();
    }
  };
  wait_for ("second", second_consumer, [&] {
    if (random () % 4 == 0)
      fail_unless (second.seek (random () % 100 * GST_SECOND));
  });
  wait_for ("first", first_consumer, [] {});
  first.wait_for_eos ();
  fail_unless_equals_int (first_consumer.finish (), frames);
  second_consumer.finish ();
}

// properties that change when or what is computed

SETUP_TEST (sync)
{
  Pipeline pipeline (
      snow (setup, "num-buffers=50", "width=640,height=480", "sync=true", "max-buffers=1"));
  pipeline.set_state (GST_STATE_PLAYING);
  for (int i = 0; i < repeats (50); i++) {
    const Sample sample = pipeline.pull ();
    fail_unless (gst_integral_histogram_wait (meta_of (sample)->histogram, 0, nullptr),
                 "frame %d is not ready", i);
  }
}

SETUP_TEST (interval)
{
  Random random (seed ());
  Pipeline pipeline (
      snow (setup, "num-buffers=50", "width=64,height=48", "interval=3", "max-buffers=4"));
  pipeline.set_state (GST_STATE_PLAYING);
  for (int i = 0; i < 50; i++) {
    const Sample sample = pipeline.pull ();
    fail_unless ((meta_of (sample) != nullptr) == (i % 3 == 0), "frame %d", i);
    expect_none (i % 3 == 0 ? complaint (sample, random) : "", "frame " + std::to_string (i));
  }
}

SETUP_TEST (gaps)
{
  Random random (seed ());
  const std::string caps = caps_of ("GRAY8", 64, 48);
  const GstVideoInfo info = info_of (caps);
  Harness harness (line_of (setup, ""));
  harness.set_caps (caps);
  for (int i = 0; i < 20; i++) {
    const bool gap = random () % 2, is_empty = gap && random () % 2;
    GstBuffer *frame = noise (info, random ());
    if (gap)
      GST_BUFFER_FLAG_SET (frame, GST_BUFFER_FLAG_GAP);
    if (is_empty)
      empty (frame);
    const Buffer buffer = harness.pass (frame);
    fail_unless (buffer.get () == frame);
    fail_unless (bool (GST_BUFFER_FLAG_IS_SET (frame, GST_BUFFER_FLAG_GAP)) == gap);
    const auto *const meta = gst_buffer_get_integral_histogram_meta (frame);
    fail_unless ((meta == nullptr) == is_empty);
    expect_none (meta ? complaint (meta->histogram, picture_of (frame, info), random) : "");
  }
}

// a broken file

SETUP_TEST (truncated)
{
  const char *folder = g_getenv ("INTHIST_TEST_DATA");
  const std::string whole =
      std::string (folder ? folder : SOURCE_ROOT "/../shared/data") + "/vtest.avi";
  g_autoptr (GstElementFactory) decoder = gst_element_factory_find ("avdec_msmpeg4");
  if (!decoder || !g_file_test (whole.c_str (), G_FILE_TEST_EXISTS)) {
    const std::string remedy =
        "; set INTHIST_TEST_DATA to a folder with vtest.avi (package opencv-doc)";
    printf ("SKIP: truncated file on %s: no %s\n", setup.backend,
            decoder ? (whole + remedy).c_str () : "avdec_msmpeg4 (package gstreamer1.0-libav)");
    return;
  }
  constexpr gsize kKept = 400000;
  g_autofree gchar *content = nullptr, *part = nullptr;
  gsize bytes = 0;
  fail_unless (g_file_get_contents (whole.c_str (), &content, &bytes, nullptr) && bytes > kKept);
  const int file = g_file_open_tmp ("inthist-XXXXXX.avi", &part, nullptr);
  fail_unless (file >= 0 && close (file) == 0
               && g_file_set_contents (part, content, kKept, nullptr));

  guint messages = 0;
  {
    Pipeline pipeline (std::string ("filesrc location=\"") + part
                       + "\" ! decodebin ! videoconvert ! " + setup.element
                       + " backend=" + setup.backend + " regions=\"100,100,64,128\" ! fakesink");
    pipeline.set_state (GST_STATE_PLAYING);
    for (bool end = false; !end;) {
      g_autoptr (GstMessage) message =
          pipeline.message (GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_ELEMENT);
      end = GST_MESSAGE_TYPE (message) != GST_MESSAGE_ELEMENT;
      messages += !end && is_ours (message);
    }
  }
  unlink (part);
  fail_unless (messages > 0);
}

TEST (no_cuda)
{
  if (!have_cuda ())
    printf ("SKIP: stream: no CUDA device\n");
}
