// SPDX-License-Identifier: LGPL-2.1-or-later
//
// strategy=auto measures when it must, and no longer than it may, on a busy machine too. Who stops
// or flushes it, or waits for another to measure, does not wait for its end.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

#include <kernels/registry.hpp>

#include "attempts.hpp"
#include "repeats.hpp"
#include "tuning.hpp"

namespace {

/// Fails where the element's log has no such line.
void hear (const char *pattern, int element, const std::string &properties)
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

/// A large frame's tensor, whose pages nobody has touched.
struct Large {
  inthist::Shape shape = { 3840, 2160, 32 };
  std::unique_ptr<void, decltype (&std::free)> tensor{
    std::aligned_alloc (64, inthist::tensor_bytes (shape, inthist::layout_of (shape))), std::free
  };

  integralhist::Expected<integralhist::Plan> plan (const std::atomic<bool> *cancelled,
                                                   unsigned milliseconds = 60000) const
  {
    return integralhist::plan_for (inthist::Device::cpu, shape, nullptr, milliseconds, 1,
                                   tensor.get (), cancelled);
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

  /// Tells whether the frame is in the element still.
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

constexpr double kMostToStop = kMarksMemory ? 0.6 : 0.3;  // seconds

}  // namespace

TEST_ENVIRONMENT (OwnCache);
TEST_FIXTURE (setup, nullptr);

/// An entry for which there was too little time to try all holds until there is more.
TEST_EACH (more_time, 2)
{
  const auto choice = another (__i__);
  Fields fields = fields_of (choice);
  fields.back () = "100";
  const std::string text = ini (group (), key (__i__), joined (fields));
  write (text);
  for (const char *time : { "tuning-time=100", "tuning-time=99", "tuning-time=1" })
    fail_unless (run (__i__, time)
                     == (Outcome{ "cached", choice.strategy->name, choice.tuning.tile,
                                  choice.tuning.threads }),
                 "%s", time);
  fail_unless (content () == text);
  for (const char *time : { "tuning-time=101", "" }) {
    write (text);
    fail_unless (run (__i__, time).tuning == "measured", "%s", time);
    fail_unless (content () != text);
  }
  fail_unless (run (__i__, "tuning-time=10000").tuning == "cached");
}

/// What was cut short says so: a millisecond is too little for a frame of this size.
TEST (too_little_time)
{
  const auto tuning = [] (const char *time) {
    Harness h (std::string ("cudaintegralhist backend=cpu compute=eager ") + time,
               "video/x-raw,format=GRAY8,width=1920,height=1080");
    gst_buffer_unref (gst_harness_push_and_pull (h, gst_harness_create_buffer (h, 1920 * 1080)));
    g_autoptr (GstElement) self = gst_harness_find_element (h, "cudaintegralhist");
    const std::string text = outcome_of (self).tuning;
    return text;
  };
  fail_unless (tuning ("tuning-time=1") == "measured");
  fail_unless (content ().ends_with (";1;\n"), "%s", content ().c_str ());
  fail_unless (tuning ("tuning-time=1") == "cached");
  fail_unless (tuning ("tuning-time=2") == "measured");
  fail_unless (content ().ends_with (";2;\n"), "%s", content ().c_str ());
}

/// Without time the built-in choice, and with a strategy that one; neither looks at the cache, or
/// writes it.
TEST_EACH (without_measuring, 2)
{
  const auto first = inthist::default_choice (inthist::Device::cpu, shape (__i__));
  const auto other = another (__i__);
  for (const bool cached : { false, true }) {
    if (cached)
      write (ini (group (), key (__i__), entry (other)));
    const std::string before = content ();
    fail_unless (
        run (__i__, "tuning-time=0")
        == (Outcome{ "default", first.strategy->name, first.tuning.tile, first.tuning.threads }));
    fail_unless (run (__i__, "strategy=serial") == (Outcome{ "set", "serial", 0, 0 }));
    fail_unless (content () == before && fs::exists (file ()) == cached);
  }
}

/// The log says what was chosen and why.
TEST_EACH (says_why, 2)
{
  struct Case {
    const char *properties, *pattern;
  };
  for (const Case &c :
       { Case{ "tuning-time=0", ": built-in" }, Case{ "", ": measured in " },
         Case{ "", ": from the cache " }, Case{ "strategy=serial", "strategy serial" } })
    hear (c.pattern, __i__, c.properties);
  write ("garbage");
  hear ("was of no use", __i__, "");
  setup ();
  std::ofstream (file ().parent_path ()) << "in the way";
  hear ("could not be written", __i__, "");
  fs::remove (file ().parent_path ());
}

/// Where the device has no strategy that makes tiles, the error says what to set.
TEST (no_strategy)
{
  const inthist::Shape tiled = { 64, 48, 8, inthist::Type::u8_tiled };
  if (inthist::preferred_strategy (inthist::Device::cuda, tiled)) {
    g_print ("SKIP: no_strategy: CUDA makes tiles\n");
    return;
  }
  const auto plan =
      integralhist::plan_for (inthist::Device::cuda, tiled, nullptr, 0, 1, nullptr, nullptr);
  fail_unless (!plan && plan.error ().message.ends_with ("(u8-tiled): set counter=u16"));
}

/// Of two elements that start at once with one shape, one measures and the other waits for it; with
/// two shapes both do, and both are kept.
TEST (two_at_once)
{
  for (const int other : { 0, 1 }) {
    setup ();
    g_autofree char *line =
        g_strdup_printf ("videotestsrc num-buffers=2 ! video/x-raw,format=GRAY8,width=%d,height=%d "
                         "! tee name=t  t. ! "
                         "queue ! %s name=a backend=cpu compute=eager ! fakesink "
                         "t. ! queue ! %s name=b backend=cpu compute=eager ! fakesink",
                         kWidth, kHeight, kElements[0], kElements[other]);
    g_autoptr (GstElement) pipeline = gst_parse_launch (line, nullptr);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
    g_autoptr (GstMessage) message = gst_bus_timed_pop_filtered (
        bus, 20 * GST_SECOND, GstMessageType (GST_MESSAGE_ERROR | GST_MESSAGE_EOS));
    fail_unless (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS);
    int measured = 0;
    for (const char *name : { "a", "b" }) {
      g_autoptr (GstElement) element = gst_bin_get_by_name (GST_BIN (pipeline), name);
      const std::string tuning = outcome_of (element).tuning;
      measured += tuning == "measured";
      fail_unless (tuning == "measured" || tuning == "cached", "%s", tuning.c_str ());
    }
    fail_unless_equals_int (measured, 1 + other);
    fail_unless (content ().find (key (0) + "=") != std::string::npos
                 && (content ().find (key (1) + "=") != std::string::npos) == bool (other));
    gst_element_set_state (pipeline, GST_STATE_NULL);
  }
}

/// The first frame comes after about tuning-time, besides what a frame takes anyway, on a machine
/// that is busy too.
TEST (bounded_start)
{
  const Load load;
  const Large large;
  const auto &[shape, tensor] = large;
  const auto seconds_of = [] (auto &&body) {
    const gint64 start = g_get_monotonic_time ();
    body ();
    return double (g_get_monotonic_time () - start) / 1e6;
  };
  const auto choice = inthist::default_choice (inthist::Device::cpu, shape);
  const std::vector<std::uint8_t> workspace (choice.strategy->workspace_bytes (shape, {}) + 256);
  std::vector<std::uint8_t> pixels (inthist::bin_stride (shape.width) * shape.height + 16);
  const auto aligned = [] (const auto &bytes, std::uintptr_t to) {
    return reinterpret_cast<std::uint8_t *> (
        (reinterpret_cast<std::uintptr_t> (bytes.data ()) + to - 1) / to * to);
  };
  double frame = 0;
  for (int i = 0; i < 3; i++)  // the first finds the tensor's pages
    frame = seconds_of ([&] {
      fail_unless_equals_int (
          inthist::run (*choice.strategy,
                        { shape,
                          inthist::layout_of (shape),
                          { aligned (pixels, 16), inthist::bin_stride (shape.width) },
                          tensor.get (),
                          aligned (workspace, 256) }),
          0);
    });
  for (const double frames :
       { 0., 2.5, 5.5, 7.,
         9. }) {  // five are the first candidate's: something else runs when the time is up
    const int budget = 1 + int (frames * frame * 1e3);  // milliseconds
    setup ();
    const double took =
        seconds_of ([&] { fail_unless (large.plan (nullptr, budget).has_value ()); });
    fail_unless (took < budget / 1e3 + 3 * frame + 0.15, "%.3f s with %d ms; a frame takes %.3f s",
                 took, budget, frame);
  }
}

/// Whoever measures stops soon after he is told, on a busy machine too, and nothing is written.
TEST (cancelled_while_measuring)
{
  const Load load;
  const Large large;
  for (const int delay : { 0, 10, 50, 200 }) {  // milliseconds
    std::atomic<bool> flag = delay == 0;
    std::atomic<gint64> set = g_get_monotonic_time ();
    std::jthread other ([&] {
      g_usleep (delay * 1000);
      set = g_get_monotonic_time ();
      flag = true;
    });
    const auto plan = large.plan (&flag);
    const gint64 end = g_get_monotonic_time ();
    if (plan && end < set)  // a fast machine
      break;
    other.join ();
    fail_unless (!plan && plan.error ().kind == integralhist::Error::Kind::flushing);
    fail_unless (double (end - set) / 1e6 < 0.3, "%.3f s", double (end - set) / 1e6);
    fail_unless (!fs::exists (file ()));
  }
}

/// A stop also ends the wait for another that measures.
TEST (cancelled_while_another_measures)
{
  const Load load;
  const Large large;
  std::atomic<bool> first = false, second = false;
  bool ended = false;
  std::jthread measuring ([&] { ended = large.plan (&first).has_value (); });
  g_usleep (20000);
  std::atomic<gint64> set = 0;
  std::jthread other ([&] {
    g_usleep (20000);
    set = g_get_monotonic_time ();
    second = true;
  });
  const Large unused = { .shape = { 64, 48, 32 } };
  const auto plan = unused.plan (&second);
  const double took = double (g_get_monotonic_time () - set) / 1e6;
  first = true;
  other.join ();
  measuring.join ();
  if (ended)
    return;  // before it was cancelled, on a fast machine
  fail_unless (!plan && plan.error ().kind == integralhist::Error::Kind::flushing);
  fail_unless (took < 0.3, "%.3f s", took);
}

/// A stop in the midst of measuring, or of making the tensor that it is measured with, does not
/// wait for it; nothing is written. The loop's index is the moment's.
TEST_EACH (stop_while_measuring, 4)
{
  static constexpr int kDelays[] = { 5, 100, 250, 400 };  // milliseconds
  const auto attempt = [i = __i__] {
    const Load load;
    Starting pipeline;
    g_usleep (kDelays[i] * 1000);
    fail_unless (pipeline.busy () || i > 0, "measured before the stop");
    const bool busy = pipeline.busy ();
    const gint64 start = g_get_monotonic_time ();
    pipeline.stop ();
    const double took = double (g_get_monotonic_time () - start) / 1e6;
    fail_unless (!busy || content ().empty (), "%s", content ().c_str ());
    return took < kMostToStop;
  };
  fail_unless (one_of_three (attempt), "each of three stops took longer than %.1f s", kMostToStop);
}

/// Nor does a flush; nobody hears of an error.
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
    return took < kMostToStop;
  };
  fail_unless (one_of_three (attempt), "each of three flushes took longer than %.1f s",
               kMostToStop);
}
