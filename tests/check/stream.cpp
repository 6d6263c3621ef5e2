// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Both elements in running pipelines: states, flushes, seeks, new caps, EOS, slow consumers. Every histogram or table that comes out is compared
// with pixels counted or added one by one, and after each test the leaks tracer must know of nothing that is left.
//
// Environment:
//   INTHIST_SEED=n            the seed, printed at the start (a fixed one by default)
//   INTHIST_TEST_DATA=folder  where vtest.avi is
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <gst/app/gstappsink.h>
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/integralhist/gstintegralhist.h>
#include <gst/video/video.h>

namespace {

/// An element, the properties that it has for itself, other ones, and where it computes.
struct Setup {
  const char *element, *properties, *other_properties, *backend;
};

/// The elements of one backend follow each other.
constexpr Setup kSetups[] = {
  { "cudaintegralhist", "bins=32", "bins=7 counter=u16", "cpu" },
  { "cudaintegralimage", "squared=true", "squared=false", "cpu" },
  { "cudaintegralhist", "bins=32", "bins=7 counter=u16", "cuda" },
  { "cudaintegralimage", "squared=true", "squared=false", "cuda" },
};
constexpr int kElements = 2;

constexpr int kStarts = 200, kRestarts = 30, kSeeks = 20, kBlockedStops = 30;
constexpr guint kStressFrames = 3000, kEosFrames = 100;
constexpr GstClockTime kLong = 30 * GST_SECOND, kShort = 200 * GST_MSECOND;
constexpr gint64 kAtOnce = G_USEC_PER_SEC;

using Random = std::mt19937;
using Sums = std::vector<guint64>;  // of each plane: counts, or sums of values and squares
using Sample = std::unique_ptr<GstSample, void (*) (GstSample *)>;
using Buffer = std::unique_ptr<GstBuffer, void (*) (GstBuffer *)>;
using Histogram = std::unique_ptr<GstIntegralHistogram, void (*) (GstIntegralHistogram *)>;

unsigned
seed ()
{
  const char *text = g_getenv ("INTHIST_SEED");
  return text ? unsigned (g_ascii_strtoull (text, nullptr, 0)) : 20250;
}

int
between (Random &random, int low, int high)
{
  return low + int (random () % unsigned (high - low + 1));
}

// pixels and what must be counted in them

struct Picture {
  int width = 0, height = 0;
  std::vector<guint8> luma;
};

/// RGB as BT.709 has it, which is what caps without a colorimetry mean.
Picture
picture_of (GstBuffer *buffer, const GstVideoInfo &info)
{
  Picture picture{ info.width, info.height, {} };
  GstVideoFrame frame;
  if (!gst_video_frame_map (&frame, &info, buffer, GST_MAP_READ))
    return picture;
  const bool rgb = GST_VIDEO_INFO_FORMAT (&info) == GST_VIDEO_FORMAT_RGB;
  for (int y = 0; y < info.height; y++) {
    const auto *row = static_cast<const guint8 *> (GST_VIDEO_FRAME_PLANE_DATA (&frame, 0)) + y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0);
    for (int x = 0; x < info.width; x++)
      picture.luma.push_back (rgb ? guint8 ((13933u * row[3 * x] + 46871u * row[3 * x + 1] + 4732u * row[3 * x + 2] + 32768u) >> 16)
                                  : row[x]);
  }
  gst_video_frame_unmap (&frame);
  return picture;
}

/// What the planes of such a tensor must say of a rectangle.
Sums
added (const Picture &picture, const GstVideoRectangle &r, GstIntegralHistogramContent content, guint planes)
{
  Sums sums (planes);
  for (int y = MAX (r.y, 0); y < MIN (r.y + r.h, picture.height); y++)
    for (int x = MAX (r.x, 0); x < MIN (r.x + r.w, picture.width); x++) {
      const guint64 value = picture.luma[y * picture.width + x];
      if (content == GST_INTEGRAL_HISTOGRAM_CONTENT_BINS)
        sums[value * planes / 256]++;
      else
        for (guint64 p = 0, power = value; p < planes; p++, power *= value)
          sums[p] += power;
    }
  return sums;
}

/// What is wrong with a histogram of a picture, or nothing: the whole frame and some rectangles, over its borders too.
std::string
complaint (GstIntegralHistogram *histogram, const Picture &picture, Random &random)
{
  const int width = picture.width, height = picture.height;
  const guint planes = gst_integral_histogram_get_bins (histogram);
  const GstIntegralHistogramContent content = gst_integral_histogram_get_content (histogram);
  if (int (gst_integral_histogram_get_width (histogram)) != width || int (gst_integral_histogram_get_height (histogram)) != height)
    return "the histogram has another size than the frame";
  std::vector<GstVideoRectangle> rectangles = { { 0, 0, width, height } };
  while (rectangles.size () < 4)
    rectangles.push_back ({ between (random, -width / 4, width), between (random, -height / 4, height), between (random, 1, width),
                            between (random, 1, height) });
  const guint n = guint (rectangles.size ());
  Sums answers (n * planes);
  std::vector<guint32> counts (n * planes);
  g_autoptr (GError) error = nullptr;
  if (!gst_integral_histogram_regions_sums (histogram, rectangles.data (), n, answers.data (), &error))
    return error->message;
  // the same in 32 bits; pictures here are too small for more
  if (!gst_integral_histogram_regions (histogram, rectangles.data (), n, counts.data (), &error))
    return error->message;
  if (!std::ranges::equal (answers, counts))
    return "the answers of 32 bits are not those of 64";
  for (guint i = 0; i < n; i++) {
    const GstVideoRectangle &r = rectangles[i];
    if (Sums (answers.begin () + i * planes, answers.begin () + (i + 1) * planes) != added (picture, r, content, planes))
      return "wrong sums in " + std::to_string (r.x) + "," + std::to_string (r.y) + " " + std::to_string (r.w) + "x" + std::to_string (r.h)
             + " of " + std::to_string (width) + "x" + std::to_string (height);
  }
  return "";
}

GstIntegralHistogramMeta *
meta_of (const Sample &sample)
{
  return gst_buffer_get_integral_histogram_meta (gst_sample_get_buffer (sample.get ()));
}

Picture
picture_of (const Sample &sample)
{
  GstVideoInfo info;
  return gst_video_info_from_caps (&info, gst_sample_get_caps (sample.get ())) ? picture_of (gst_sample_get_buffer (sample.get ()), info)
                                                                               : Picture ();
}

std::string
complaint (const Sample &sample, Random &random)
{
  const GstIntegralHistogramMeta *meta = meta_of (sample);
  return meta ? complaint (meta->histogram, picture_of (sample), random) : "a frame has no meta";
}

void
check_all (const std::vector<Sample> &samples, Random &random)
{
  for (const Sample &sample : samples) {
    const std::string what = complaint (sample, random);
    fail_unless (what.empty (), "%s", what.c_str ());
  }
}

// pipelines

/// A pipeline with the elements `hist` and, maybe, an appsink `sink`.
class Pipeline {
public:
  explicit Pipeline (const std::string &description)
  {
    g_autoptr (GError) error = nullptr;
    pipeline_ = gst_parse_launch (description.c_str (), &error);
    fail_unless (pipeline_ && !error, "%s: %s", description.c_str (), error ? error->message : "");
    sink = gst_bin_get_by_name (GST_BIN (pipeline_), "sink");
    bus = gst_element_get_bus (pipeline_);
  }
  ~Pipeline ()
  {
    set_state (GST_STATE_NULL);
    gst_clear_object (&sink);
    gst_object_unref (bus);
    gst_object_unref (pipeline_);
  }
  Pipeline (const Pipeline &) = delete;
  Pipeline &operator= (const Pipeline &) = delete;

  void set_state (GstState state)
  {
    if (gst_element_set_state (pipeline_, state) == GST_STATE_CHANGE_FAILURE)
      fail_on_error ("the state does not change");
  }

  /// Null after `timeout`.
  Sample try_pull (GstClockTime timeout) { return { gst_app_sink_try_pull_sample (GST_APP_SINK (sink), timeout), gst_sample_unref }; }
  Sample pull ()
  {
    Sample sample = try_pull (kLong);
    if (!sample)
      fail_on_error ("no sample");
    return sample;
  }

  gboolean seek (GstClockTime to)
  {
    return gst_element_seek_simple (pipeline_, GST_FORMAT_TIME, GstSeekFlags (GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE), to);
  }

  /// The next message of these types; any error ends the test.
  GstMessage *message (int types)
  {
    GstMessage *next = gst_bus_timed_pop_filtered (bus, kLong, GstMessageType (types | GST_MESSAGE_ERROR));
    fail_unless (next != nullptr, "no message");
    if (GST_MESSAGE_TYPE (next) == GST_MESSAGE_ERROR && !(types & GST_MESSAGE_ERROR))
      fail_with (next, "");
    return next;
  }
  void wait_for_eos () { gst_message_unref (message (GST_MESSAGE_EOS)); }

  void fail_on_error (const char *otherwise)
  {
    GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
    fail_with (message, otherwise);
  }

  GstElement *sink;
  GstBus *bus;

private:
  static void fail_with (GstMessage *message, const char *otherwise)
  {
    g_autoptr (GError) error = nullptr;
    if (message)
      gst_message_parse_error (message, &error, nullptr);
    fail ("%s", error ? error->message : otherwise);
  }

  GstElement *pipeline_;
};

/// Random pictures, which can be seeked in, with histograms or tables.
std::string
noise (const Setup &setup, const std::string &source, const std::string &size, const std::string &properties, const std::string &sink)
{
  return "videotestsrc pattern=snow " + source + " ! video/x-raw,format=GRAY8,framerate=30/1," + size + " ! " + setup.element
         + " name=hist " + setup.properties + " backend=" + setup.backend + " " + properties
         + " ! appsink name=sink sync=false enable-last-sample=false " + sink;
}

/// A thread that takes samples, checks them, keeps some of them for a while, and checks these again before it lets go of them.
class Consumer {
public:
  Consumer (GstElement *sink, unsigned seed) : sink_ (sink), random_ (seed), thread_ ([this] { run (); }) {}

  /// How many samples came.
  guint finish ()
  {
    stopping_ = true;
    thread_.join ();
    fail_unless (complaint_.empty (), "%s", complaint_.c_str ());
    return frames;
  }

  std::atomic<guint> frames = 0;

private:
  void run ()
  {
    std::vector<Sample> held;
    while (!stopping_) {
      Sample sample (gst_app_sink_try_pull_sample (GST_APP_SINK (sink_), 20 * GST_MSECOND), gst_sample_unref);
      if (sample) {
        frames++;
        if (random_ () % 2)
          check (sample);
        held.push_back (std::move (sample));
      } else {
        g_usleep (100);  // a sink that is flushing answers at once
      }
      while (held.size () > 8 || (!held.empty () && random_ () % 3 == 0)) {
        const std::size_t i = random_ () % held.size ();
        check (held[i]);
        held.erase (held.begin () + long (i));
      }
      if (random_ () % 8 == 0)
        g_usleep (random_ () % 4000);
    }
    for (const Sample &sample : held)
      check (sample);
  }

  void check (const Sample &sample)
  {
    if (complaint_.empty ())
      complaint_ = complaint (sample, random_);
  }

  GstElement *const sink_;
  std::atomic<bool> stopping_ = false;
  Random random_;
  std::string complaint_;  // of the thread, until it has ended
  std::thread thread_;
};

// harness

/// A frame of random bytes, for caps such as "GRAY8,width=64,height=48".
GstBuffer *
random_frame (const GstVideoInfo &info, Random &random)
{
  GstBuffer *buffer = gst_buffer_new_allocate (nullptr, info.size, nullptr);
  GstMapInfo map;
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  for (gsize i = 0; i < map.size; i++)
    map.data[i] = guint8 (random ());
  gst_buffer_unmap (buffer, &map);
  return buffer;
}

GstVideoInfo
video_info (const std::string &caps_text)
{
  GstVideoInfo info;
  g_autoptr (GstCaps) caps = gst_caps_from_string (caps_text.c_str ());
  fail_unless (gst_video_info_from_caps (&info, caps));
  return info;
}

std::string
caps_text (const char *format, int width, int height)
{
  return std::string ("video/x-raw,framerate=30/1,format=") + format + ",width=" + std::to_string (width)
         + ",height=" + std::to_string (height);
}

/// The element alone.
class Harness {
public:
  Harness (const Setup &setup, const std::string &properties)
      : harness_ (gst_harness_new_parse (
          (std::string (setup.element) + " " + setup.properties + " backend=" + setup.backend + " " + properties).c_str ()))
  {
  }
  ~Harness () { gst_harness_teardown (harness_); }
  Harness (const Harness &) = delete;
  Harness &operator= (const Harness &) = delete;

  void set_caps (const std::string &caps) { gst_harness_set_src_caps_str (harness_, caps.c_str ()); }
  Buffer pass (GstBuffer *buffer)
  {
    fail_unless_equals_int (gst_harness_push (harness_, buffer), GST_FLOW_OK);
    return { gst_harness_pull (harness_), gst_buffer_unref };
  }

private:
  GstHarness *const harness_;
};

// states

void
run_starts (const Setup &setup)
{
  Random random (seed ());
  Pipeline pipeline (noise (setup, "", "width=160,height=120", "regions=\"3,5,40,50\"", "max-buffers=4"));
  for (int i = 0; i < kStarts; i++) {
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

void
run_restarts (const Setup &setup)
{
  Random random (seed ());
  std::vector<Sample> held;
  {
    Pipeline pipeline (noise (setup, "", "width=160,height=120", "async-depth=4", "max-buffers=4"));
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
void
run_outlive (const Setup &setup)
{
  Random random (seed ());
  std::vector<Sample> held;
  Histogram histogram (nullptr, gst_integral_histogram_unref);
  Picture picture;
  {
    Pipeline pipeline (noise (setup, "", "width=320,height=240", "async-depth=8", "max-buffers=8"));
    pipeline.set_state (GST_STATE_PLAYING);
    for (int i = 0; i < 5; i++)
      held.push_back (pipeline.pull ());
    const Sample sample = pipeline.pull ();
    histogram.reset (gst_integral_histogram_ref (meta_of (sample)->histogram));
    picture = picture_of (sample);
  }
  check_all (held, random);
  const std::string what = complaint (histogram.get (), picture, random);
  fail_unless (what.empty (), "without its buffer: %s", what.c_str ());
}

// flushes and seeks

void
run_seeks (const Setup &setup)
{
  Random random (seed ());
  Pipeline pipeline (noise (setup, "", "width=160,height=120", "async-depth=4 regions=\"0,0,50,50\"", "max-buffers=4"));
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

/// The element waits at max-tensors; flush and stop end the wait at once, and a release ends it too.
void
run_blocked (const Setup &setup)
{
  Random random (seed ());
  Pipeline pipeline (noise (setup, "", "width=64,height=48", "max-tensors=2", "async=false"));
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
      fail_unless (pipeline.try_pull (kShort) == nullptr, "the element goes on at the limit after a flush");
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

void
run_caps (const Setup &setup)
{
  Random random (seed ());
  struct Held {
    Histogram histogram;
    Picture picture;
  };
  std::vector<Held> held;
  {
    Harness harness (setup, "async-depth=4");
    const std::string all_caps[] = { caps_text ("GRAY8", 64, 48), caps_text ("GRAY8", 101, 37), caps_text ("RGB", 101, 37),
                                     caps_text ("NV12", 320, 16), caps_text ("I420", 7, 201),   caps_text ("GRAY8", 1, 1) };
    for (int round = 0; round < 4; round++)
      for (const std::string &caps : all_caps) {
        const GstVideoInfo info = video_info (caps);
        harness.set_caps (caps);
        for (int i = 0; i < 3; i++) {
          const Buffer buffer = harness.pass (random_frame (info, random));
          const GstIntegralHistogramMeta *meta = gst_buffer_get_integral_histogram_meta (buffer.get ());
          fail_unless (meta != nullptr, "%s: no meta", caps.c_str ());
          fail_unless_equals_int (meta->width, info.width);
          fail_unless_equals_int (meta->height, info.height);
          held.push_back (
              { { gst_integral_histogram_ref (meta->histogram), gst_integral_histogram_unref }, picture_of (buffer.get (), info) });
          const Held &one = held[random () % held.size ()];
          const std::string what = complaint (one.histogram.get (), one.picture, random);
          fail_unless (what.empty (), "%s: %s", caps.c_str (), what.c_str ());
        }
      }
  }
  for (const Held &one : held) {
    const std::string what = complaint (one.histogram.get (), one.picture, random);
    fail_unless (what.empty (), "after the element: %s", what.c_str ());
  }
}

// EOS

/// What a message says of its region i, as the planes do.
Sums
sums_of (const GstStructure *structure, guint i)
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

bool
is_ours (GstMessage *message)
{
  return gst_message_has_name (message, "integral-histogram") || gst_message_has_name (message, "integral-image");
}

void
run_eos (const Setup &setup)
{
  const GstVideoRectangle regions[] = { { 3, 4, 20, 30 }, { -5, -5, 1000, 1000 }, { 150, 110, 50, 50 } };
  Pipeline pipeline (noise (setup, "num-buffers=" + std::to_string (kEosFrames), "width=160,height=120",
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
      fail_unless (gst_structure_get (structure, "frame", G_TYPE_UINT64, &number, "timestamp", G_TYPE_UINT64, &timestamp, nullptr));
      fail_unless_equals_uint64 (number, messages++);
      fail_unless_equals_uint64 (timestamp, GST_BUFFER_PTS (gst_sample_get_buffer (sample.get ())));
      GstIntegralHistogram *histogram = meta_of (sample)->histogram;
      for (guint i = 0; i < G_N_ELEMENTS (regions); i++)
        fail_unless (
            sums_of (structure, i)
                == added (picture, regions[i], gst_integral_histogram_get_content (histogram), gst_integral_histogram_get_bins (histogram)),
            "frame %d, region %u", int (number), i);
    }
  }
  fail_unless_equals_uint64 (messages, kEosFrames);
  fail_unless (gst_bus_pop_filtered (pipeline.bus, GST_MESSAGE_ELEMENT) == nullptr, "a message comes after EOS");
}

// consumers

/// Two pipelines at once, with consumers that are slow and keep what they like.
void
run_stress (const Setup &setup)
{
  const std::string source = "num-buffers=" + std::to_string (kStressFrames);
  Pipeline first (noise (setup, source, "width=64,height=48", "async-depth=1", "max-buffers=4"));
  const Setup other = { setup.element, setup.other_properties, nullptr, setup.backend };
  Pipeline second (noise (other, source, "width=64,height=48", "async-depth=4 max-tensors=20", "max-buffers=4"));
  first.set_state (GST_STATE_PLAYING);
  second.set_state (GST_STATE_PLAYING);
  Consumer first_consumer (first.sink, seed ()), second_consumer (second.sink, seed () + 1);
  first.wait_for_eos ();
  second.wait_for_eos ();
  fail_unless_equals_int (first_consumer.finish (), kStressFrames);
  fail_unless_equals_int (second_consumer.finish (), kStressFrames);
}

// properties that change when or what is computed

void
run_sync (const Setup &setup)
{
  Pipeline pipeline (noise (setup, "num-buffers=50", "width=640,height=480", "sync=true", "max-buffers=1"));
  pipeline.set_state (GST_STATE_PLAYING);
  for (int i = 0; i < 50; i++) {
    const Sample sample = pipeline.pull ();
    fail_unless (gst_integral_histogram_wait (meta_of (sample)->histogram, 0, nullptr), "frame %d is not ready", i);
  }
}

void
run_interval (const Setup &setup)
{
  Random random (seed ());
  Pipeline pipeline (noise (setup, "num-buffers=50", "width=64,height=48", "interval=3", "max-buffers=4"));
  pipeline.set_state (GST_STATE_PLAYING);
  for (int i = 0; i < 50; i++) {
    const Sample sample = pipeline.pull ();
    fail_unless ((meta_of (sample) != nullptr) == (i % 3 == 0), "frame %d", i);
    const std::string what = i % 3 == 0 ? complaint (sample, random) : "";
    fail_unless (what.empty (), "frame %d: %s", i, what.c_str ());
  }
}

void
run_gaps (const Setup &setup)
{
  Random random (seed ());
  const std::string caps = caps_text ("GRAY8", 64, 48);
  const GstVideoInfo info = video_info (caps);
  Harness harness (setup, "");
  harness.set_caps (caps);
  for (int i = 0; i < 20; i++) {
    const bool gap = random () % 2;
    GstBuffer *frame = random_frame (info, random);
    if (gap)
      GST_BUFFER_FLAG_SET (frame, GST_BUFFER_FLAG_GAP);
    const Buffer buffer = harness.pass (frame);
    fail_unless (bool (GST_BUFFER_FLAG_IS_SET (buffer.get (), GST_BUFFER_FLAG_GAP)) == gap);
    fail_unless ((gst_buffer_get_integral_histogram_meta (buffer.get ()) == nullptr) == gap);
  }
}

// a broken file

void
run_truncated (const Setup &setup)
{
  const char *folder = g_getenv ("INTHIST_TEST_DATA");
  const std::string whole = std::string (folder ? folder : SOURCE_ROOT "/../shared/data") + "/vtest.avi";
  g_autoptr (GstElementFactory) decoder = gst_element_factory_find ("avdec_msmpeg4");
  if (!decoder || !g_file_test (whole.c_str (), G_FILE_TEST_EXISTS)) {
    const std::string remedy = "; set INTHIST_TEST_DATA to a folder with vtest.avi (package opencv-doc)";
    printf ("SKIP: truncated file on %s: no %s\n", setup.backend,
            decoder ? (whole + remedy).c_str () : "avdec_msmpeg4 (package gstreamer1.0-libav)");
    return;
  }
  constexpr gsize kKept = 400000;
  g_autofree gchar *content = nullptr, *part = nullptr;
  gsize bytes = 0;
  fail_unless (g_file_get_contents (whole.c_str (), &content, &bytes, nullptr) && bytes > kKept);
  const int file = g_file_open_tmp ("inthist-XXXXXX.avi", &part, nullptr);
  fail_unless (file >= 0 && close (file) == 0 && g_file_set_contents (part, content, kKept, nullptr));

  guint messages = 0;
  {
    Pipeline pipeline (std::string ("filesrc location=\"") + part + "\" ! decodebin ! videoconvert ! " + setup.element
                       + " backend=" + setup.backend + " regions=\"100,100,64,128\" ! fakesink");
    pipeline.set_state (GST_STATE_PLAYING);
    for (bool end = false; !end;) {
      g_autoptr (GstMessage) message = pipeline.message (GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_ELEMENT);
      end = GST_MESSAGE_TYPE (message) != GST_MESSAGE_ELEMENT;
      messages += !end && is_ours (message);
    }
  }
  unlink (part);
  fail_unless (messages > 0);
}

// leaks

GstTracer *
leaks_tracer ()
{
  GstTracer *found = nullptr;
  GList *tracers = gst_tracing_get_active_tracers ();
  for (GList *at = tracers; at; at = at->next)
    if (g_str_equal (G_OBJECT_TYPE_NAME (at->data), "GstLeaksTracer"))
      found = GST_TRACER (gst_object_ref (at->data));
  g_list_free_full (tracers, gst_object_unref);
  return found;
}

/// Nothing of a test is alive after it.
void
teardown ()
{
  g_autoptr (GstTracer) tracer = leaks_tracer ();
  fail_unless (tracer != nullptr, "the leaks tracer is not there");
  g_autoptr (GstStructure) structure = nullptr;
  g_signal_emit_by_name (tracer, "get-live-objects", &structure);
  const GValue *list = gst_structure_get_value (structure, "live-objects-list");
  std::string left;
  for (guint i = 0; i < gst_value_list_get_size (list); i++) {
    const GValue *object = gst_structure_get_value (gst_value_get_structure (gst_value_list_get_value (list, i)), "object");
    left +=
        std::string (" ") + (G_VALUE_HOLDS_OBJECT (object) ? G_OBJECT_TYPE_NAME (g_value_get_object (object)) : G_VALUE_TYPE_NAME (object));
  }
  fail_unless (left.empty (), "left alive:%s", left.c_str ());
}

/// For the log domains that gst_check_init() does not watch.
void
fail_on_critical (const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer)
{
  fail_if (level & (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING), "%s: %s", domain, message);
}

/// Whether a pipeline can start with CUDA. In a process of its own: a driver does not survive the fork of each test.
bool
have_cuda ()
{
  const pid_t child = fork ();
  if (child == 0) {
    gst_init (nullptr, nullptr);
    GstElement *element = gst_element_factory_make ("cudaintegralhist", nullptr);
    if (!element)
      _exit (1);
    gst_util_set_object_arg (G_OBJECT (element), "backend", "cuda");
    _exit (gst_element_set_state (element, GST_STATE_PAUSED) == GST_STATE_CHANGE_FAILURE);
  }
  int status = -1;
  return child > 0 && waitpid (child, &status, 0) == child && status == 0;
}

}  // namespace

/// A test of each setup; the loop's index is the setup's.
#define SETUP_TEST(name) \
  GST_START_TEST (name) \
  { \
    run_##name (kSetups[__i__]); \
  } \
  GST_END_TEST

SETUP_TEST (starts)
SETUP_TEST (restarts)
SETUP_TEST (outlive)
SETUP_TEST (seeks)
SETUP_TEST (blocked)
SETUP_TEST (caps)
SETUP_TEST (eos)
SETUP_TEST (stress)
SETUP_TEST (sync)
SETUP_TEST (interval)
SETUP_TEST (gaps)
SETUP_TEST (truncated)

GST_START_TEST (no_cuda)
{
  printf ("SKIP: stream: no CUDA device\n");
}
GST_END_TEST

static Suite *
stream_suite (bool cuda)
{
  Suite *const suite = suite_create ("stream");
  TCase *const tcase = tcase_create ("stream");
  const int setups = cuda ? 2 * kElements : kElements;
  setvbuf (stdout, nullptr, _IOLBF, 0);  // a test that fails ends its process without a flush
  printf ("INTHIST_SEED=%u\n", seed ());
  suite_add_tcase (suite, tcase);
  tcase_set_timeout (tcase, 120);
  tcase_add_checked_fixture (tcase, nullptr, teardown);
  tcase_add_loop_test (tcase, starts, 0, setups);
  tcase_add_loop_test (tcase, restarts, 0, setups);
  tcase_add_loop_test (tcase, outlive, 0, setups);
  tcase_add_loop_test (tcase, seeks, 0, setups);
  tcase_add_loop_test (tcase, blocked, 0, setups);
  tcase_add_loop_test (tcase, caps, 0, setups);
  tcase_add_loop_test (tcase, eos, 0, setups);
  tcase_add_loop_test (tcase, stress, 0, setups);
  tcase_add_loop_test (tcase, sync, 0, setups);
  tcase_add_loop_test (tcase, interval, 0, setups);
  tcase_add_loop_test (tcase, gaps, 0, setups);
  tcase_add_loop_test (tcase, truncated, 0, setups);
  if (!cuda)
    tcase_add_test (tcase, no_cuda);
  return suite;
}

int
main (int argc, char **argv)
{
  const bool cuda = have_cuda ();
  g_setenv ("GST_TRACERS", "leaks(filters=\"GstIntegralHistogram,GstBuffer,GstSample,GstMessage,GstElement,GstPad\")", TRUE);
  gst_check_init (&argc, &argv);
  g_log_set_default_handler (fail_on_critical, nullptr);
  // appsink 1.22 complains of itself when a flush finds caps in its queue while somebody holds a sample; the sample is right all the same
  gst_check_add_log_filter ("GStreamer", G_LOG_LEVEL_CRITICAL,
                            g_regex_new ("^gst_sample_set_caps: .*gst_sample_is_writable", {}, {}, nullptr), nullptr, nullptr, nullptr);
  return gst_check_run_suite (stream_suite (cuda), "stream", __FILE__);
}
