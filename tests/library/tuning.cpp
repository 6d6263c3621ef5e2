// SPDX-License-Identifier: LGPL-2.1-or-later
//
// strategy=auto takes the built-in choice, and measures only if tuning-time is set: no longer than
// that, also on a busy machine. A stop or a flush does not wait for the end of measuring.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>

#include <glib/gstdio.h>
#include <gst/integralhist/base/cancel.hpp>
#include <gst/integralhist/engine/strategy_choice.hpp>
#include <gst/integralhist/gstintegralhist.h>
#include <kernels/registry.hpp>

#include "attempts.hpp"
#include "frames.hpp"
#include "repeats.hpp"

namespace fs = std::filesystem;

namespace {

constexpr int kWidth = 64, kHeight = 48;

struct Outcome {
  std::string tuning, strategy;
  std::vector<guint64> sums;  // of some regions
};

std::string text_of (GstElement *element, const char *field)
{
  g_autoptr (GstStructure) stats = nullptr;
  g_object_get (element, "stats", &stats, nullptr);
  return gst_structure_get_string (stats, field);
}

/// Computes one frame, the same each time.
Outcome run (const char *element, const std::string &properties)
{
  g_autofree char *caps = g_strdup_printf (
      "video/x-raw,format=GRAY8,width=%d,height=%d,framerate=25/1", kWidth, kHeight);
  Harness h (std::string (element) + " compute=eager backend=cpu " + properties, caps);
  GstVideoInfo info;
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  g_autoptr (GstBuffer) out = gst_harness_push_and_pull (h, noise (info, 1));
  Outcome outcome;
  for (int y = 0; y < kHeight; y++)
    for (const int x : { 0, 7, kWidth - 1 }) {
      std::vector<guint64> sums (32);
      fail_unless (gst_integral_histogram_region_sums (
          gst_buffer_get_integral_histogram_meta (out)->histogram, 0, 0, x + 1, y + 1, sums.data (),
          nullptr));
      outcome.sums.insert (outcome.sums.end (), sums.begin (), sums.end ());
    }
  g_autoptr (GstElement) self = gst_harness_find_element (h, element);
  outcome.tuning = text_of (self, "tuning");
  outcome.strategy = text_of (self, "strategy");
  return outcome;
}

/// Keeps the user's cache in a folder of this program. GLib looks for it later.
struct OwnCache {
  OwnCache ()
  {
    if (g_mkdtemp (folder.data ()))
      g_setenv ("XDG_CACHE_HOME", folder.c_str (), TRUE);
    else
      g_error ("no folder %s: %s", folder.c_str (), g_strerror (errno));
  }
  ~OwnCache () { fs::remove_all (folder); }

  std::string folder = (fs::temp_directory_path () / "inthist-tuning-XXXXXX").string ();
};

/// Fails if the user's cache has more than GStreamer's registry.
void expect_no_file ()
{
  for (const auto &entry : fs::directory_iterator (g_get_user_cache_dir ()))
    fail_unless_equals_string (entry.path ().filename ().c_str (), "gstreamer-1.0");
}

/// Fails if the element's log does not have such a line.
void hear (const char *pattern, const char *element, const std::string &properties)
{
  static std::string log;
  log.clear ();
  const GstLogFunction listen = [] (GstDebugCategory *category, GstDebugLevel, const gchar *,
                                    const gchar *, gint, GObject *, GstDebugMessage *message,
                                    gpointer) {
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

/// Threads that keep this machine busy.
class Load {
public:
  Load ()
  {
    for (unsigned i = 0; i < std::max (2u, std::thread::hardware_concurrency ()); i++)
      threads_.emplace_back ([] (std::stop_token stop) {
        while (!stop.stop_requested ())
          ;
      });
  }

private:
  std::vector<std::jthread> threads_;
};

/// A large frame's tensor, whose pages have not been touched.
struct Large {
  inthist::Shape shape = { 3840, 2160, 32 };
  std::unique_ptr<void, decltype (&std::free)> tensor{
    std::aligned_alloc (64, inthist::tensor_bytes (shape)), std::free
  };

  integralhist::Expected<integralhist::StrategyPlan> plan (unsigned milliseconds = 60000) const
  {
    return integralhist::choose_strategy (inthist::Device::cpu, shape, nullptr, milliseconds, 1,
                                          tensor.get ());
  }
};

/// A pipeline whose element is about to compute its first frame, or to measure how.
class Starting {
public:
  Starting ()
  {
    counter ("sink", &in_);
    counter ("src", &out_);
    gst_element_set_state (pipeline_, GST_STATE_PLAYING);
    for (int i = 0; i < 5000 && in_ == 0; i++)
      g_usleep (1000);
    fail_unless_equals_int (in_, 1);
  }

  ~Starting ()
  {
    stop ();
    gst_object_unref (element_);
    gst_object_unref (pipeline_);
  }

  /// Tells whether the frame is still in the element.
  bool busy () const { return out_ == 0; }
  GstElement *element () const { return element_; }
  void stop () { gst_element_set_state (pipeline_, GST_STATE_NULL); }

  void expect_no_error ()
  {
    g_autoptr (GstBus) bus = gst_element_get_bus (pipeline_);
    GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
    fail_unless (message == nullptr, "an error was posted");
  }

private:
  void counter (const char *name, std::atomic<int> *count)
  {
    g_autoptr (GstPad) pad = gst_element_get_static_pad (element_, name);
    gst_pad_add_probe (
        pad, GST_PAD_PROBE_TYPE_BUFFER,
        [] (GstPad *, GstPadProbeInfo *, gpointer counter) {
          ++*static_cast<std::atomic<int> *> (counter);
          return GST_PAD_PROBE_OK;
        },
        count, nullptr);
  }

  std::atomic<int> in_ = 0, out_ = 0;
  GstElement *pipeline_ =
      gst_parse_launch ("videotestsrc ! video/x-raw,format=GRAY8,width=1920,height=1080 ! "
                        "cudaintegralhist name=e bins=64 backend=cpu compute=eager "
                        "tuning-time=60000 ! fakesink async=false",
                        nullptr);
  GstElement *element_ = gst_bin_get_by_name (GST_BIN (pipeline_), "e");
};

constexpr double kMaxToStop = kMarksMemory ? 0.6 : 0.3;  // seconds

}  // namespace

TEST_ENVIRONMENT (OwnCache);
TEST_FIXTURE (nullptr, expect_no_file);

/// The built-in choice for each device and kind of tensor.
TEST (built_in)
{
  using inthist::Content, inthist::Device, inthist::Type;
  struct Case {
    Type counter;
    Content content;
    const char *cpu, *cuda;
  };
  for (const Case &c : { Case{ Type::u32, Content::bins, "rows", "strip" },
                         Case{ Type::u16, Content::bins, "rows", "strip" },
                         Case{ Type::u8_tiled, Content::bins, "byte-rows", "byte-tiles" },
                         Case{ Type::u32, Content::weights, "rows", "strip" },
                         Case{ Type::u32, Content::sums, "rows", "look-back" } })
    for (const Device device : { Device::cpu, Device::cuda }) {
      const inthist::Shape shape = {
        640,       480,       c.content == Content::sums ? 1 : 32,
        c.counter, c.content, c.content == Content::weights ? Type::u32 : Type::u8
      };
      const auto plan = integralhist::choose_strategy (device, shape, nullptr, 0, 1, nullptr);
      if (device == Device::cuda && !INTHIST_CUDA) {
        fail_unless (!plan);
        continue;
      }
      fail_unless (plan.has_value ());
      fail_unless_equals_string (plan->choice.strategy->name,
                                 device == Device::cpu ? c.cpu : c.cuda);
      fail_unless_equals_string (plan->origin, "default");
      fail_unless (plan->choice.tuning == inthist::Tuning{} && plan->choice.seconds == 0);
    }
}

/// Every strategy gives the same sums, whether auto or the user chooses it.
TEST_EACH (who_chooses, 2)
{
  const char *const element = kElements[__i__];
  const Outcome set = run (element, "strategy=serial");
  fail_unless_equals_string (set.tuning.c_str (), "set");
  fail_unless_equals_string (set.strategy.c_str (), "serial");
  for (const char *properties : { "", "strategy=auto", "tuning-time=0" }) {
    const Outcome built_in = run (element, properties);
    fail_unless_equals_string (built_in.tuning.c_str (), "default");
    fail_unless_equals_string (built_in.strategy.c_str (), "rows");
    fail_unless (built_in.sums == set.sums);
  }
  for (int i = 0; i < 2; i++) {  // nothing is remembered from the first run
    const Outcome measured = run (element, "tuning-time=100");
    fail_unless_equals_string (measured.tuning.c_str (), "measured");
    fail_unless (measured.sums == set.sums);
  }
}

/// The log says what was chosen and why.
TEST_EACH (says_why, 2)
{
  struct Case {
    const char *properties, *pattern;
  };
  for (const Case &c : { Case{ "", ": built-in" }, Case{ "tuning-time=100", ": measured in " },
                         Case{ "strategy=serial", "strategy serial" } })
    hear (c.pattern, kElements[__i__], c.properties);
}

/// A time that is too short for one frame leaves the built-in choice.
TEST (too_little_time)
{
  const Load load;
  const Large large;
  const auto plan = large.plan (1);
  fail_unless (plan.has_value ());
  fail_unless_equals_string (plan->choice.strategy->name, "rows");
  fail_unless_equals_string (plan->origin, "default");
}

/// If the device has no strategy that makes tiles, the error says what to set.
TEST (no_strategy)
{
  const inthist::Shape tiled = { 64, 48, 8, inthist::Type::u8_tiled };
  if (inthist::preferred_strategy (inthist::Device::cuda, tiled)) {
    g_print ("SKIP: no_strategy: CUDA makes tiles\n");
    return;
  }
  const auto plan =
      integralhist::choose_strategy (inthist::Device::cuda, tiled, nullptr, 0, 1, nullptr);
  fail_unless (!plan && plan.error ().message.ends_with ("(u8-tiled): set counter=u16"));
}

/// Measuring ends in time, on a machine that is busy too.
TEST (bounded_start)
{
  const Load load;
  const Large large;
  for (const unsigned budget : { 20u, 100u, 400u, 1000u }) {  // milliseconds
    const auto attempt = [&] {
      const gint64 start = g_get_monotonic_time ();
      fail_unless (large.plan (budget).has_value ());
      const double took = double (g_get_monotonic_time () - start) / 1e6;
      g_print ("%.3f s with %u ms\n", took, budget);
      return took < budget / 1e3 + 0.25;  // includes making a picture
    };
    fail_unless (one_of_three (attempt), "each of three took 250 ms more than %u ms", budget);
  }
}

/// Measuring stops soon after it is cancelled, on a busy machine too.
TEST (cancelled_while_measuring)
{
  const Load load;
  const Large large;
  for (const int delay : { 0, 10, 50, 200 }) {  // milliseconds
    const auto attempt = [&] {
      std::atomic<bool> flag = delay == 0;
      std::atomic<gint64> set = g_get_monotonic_time ();
      std::jthread other ([&] {
        g_usleep (delay * 1000);
        set = g_get_monotonic_time ();
        flag = true;
      });
      const integralhist::CancelScope scope (flag);
      const auto plan = large.plan ();
      const gint64 end = g_get_monotonic_time ();
      if (plan && end < set)  // a fast machine
        return true;
      other.join ();
      fail_unless (!plan && plan.error ().kind == integralhist::Error::Kind::flushing);
      g_print ("%.3f s after %d ms\n", double (end - set) / 1e6, delay);
      return double (end - set) / 1e6 < 0.3;
    };
    fail_unless (one_of_three (attempt), "each of three took 300 ms more than %d ms", delay);
  }
}

/// A stop also ends the wait for another element that measures.
TEST (cancelled_while_another_measures)
{
  const Load load;
  const Large large;
  const auto attempt = [&] {
    std::atomic<bool> first = false, second = false;
    bool ended = false;
    std::jthread measuring ([&] {
      const integralhist::CancelScope scope (first);
      ended = large.plan ().has_value ();
    });
    g_usleep (20000);
    std::atomic<gint64> set = 0;
    std::jthread other ([&] {
      g_usleep (20000);
      set = g_get_monotonic_time ();
      second = true;
    });
    const Large unused = { .shape = { 64, 48, 32 } };
    const integralhist::CancelScope scope (second);
    const auto plan = unused.plan ();
    const double took = double (g_get_monotonic_time () - set) / 1e6;
    first = true;
    other.join ();
    measuring.join ();
    if (ended)
      return true;  // before it was cancelled, on a fast machine
    fail_unless (!plan && plan.error ().kind == integralhist::Error::Kind::flushing);
    g_print ("%.3f s\n", took);
    return took < 0.3;
  };
  fail_unless (one_of_three (attempt), "each of three took more than 300 ms");
}

/// A stop during measuring, or while the tensor for it is made, does not wait for the end. The
/// index is that of the delay.
TEST_EACH (stop_while_measuring, 4)
{
  static constexpr int kDelays[] = { 5, 100, 250, 400 };  // milliseconds
  const auto attempt = [i = __i__] {
    const Load load;
    Starting pipeline;
    g_usleep (kDelays[i] * 1000);
    fail_unless (pipeline.busy () || i > 0, "measured before the stop");
    const gint64 start = g_get_monotonic_time ();
    pipeline.stop ();
    const double took = double (g_get_monotonic_time () - start) / 1e6;
    return took < kMaxToStop;
  };
  fail_unless (one_of_three (attempt), "each of three stops took longer than %.1f s", kMaxToStop);
}

/// A flush does not wait for measuring, and posts no error.
TEST (flush_while_measuring)
{
  const auto attempt = [] {
    const Load load;
    Starting pipeline;
    g_usleep (100000);
    g_autoptr (GstPad) pad = gst_element_get_static_pad (pipeline.element (), "sink");
    const gint64 start = g_get_monotonic_time ();
    gst_pad_send_event (pad, gst_event_new_flush_start ());
    gst_pad_send_event (pad, gst_event_new_flush_stop (TRUE));  // waits for the streaming thread
    const double took = double (g_get_monotonic_time () - start) / 1e6;
    pipeline.expect_no_error ();
    return took < kMaxToStop;
  };
  fail_unless (one_of_three (attempt), "each of three flushes took longer than %.1f s", kMaxToStop);
}
