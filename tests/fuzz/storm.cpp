// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Many threads at once on one pipeline with all elements: properties, states, seeks, flushes, caps,
// the mouse, branches that come and go, questions, and samples that are held for long. Every
// histogram must add up to its frame's area, or less if a feature leaves pixels out, every error
// must be one that a setting explains, and frames must go on coming.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/integralhist/gstintegralhist.h>
#include <gst/video/navigation.h>
#include <gst/video/video.h>

#include "program.hpp"

namespace {

using Sample = std::unique_ptr<GstSample, void (*) (GstSample *)>;

/// The elements whose properties change.
constexpr const char *kElements[] = { "hist", "track", "overlay", "image", "likelihood" };
constexpr int kStuckSeconds = 60;

/// A thread, and its present work, to print if it hangs.
struct Worker {
  const char *name;
  std::atomic<const char *> doing = "";
  std::thread thread;
};

class Storm {
public:
  explicit Storm (const ProgramOptions &options) : options_ (options)
  {
    const std::string hist = "backend=" + options.backend + " tuning-time=0";
    // GStreamer 1.22 ends the process if a leaky queue is full by time and has no buffer
    const std::string line =
        "appsrc name=source format=time stream-type=seekable max-buffers=3 leaky-type=downstream ! "
        "queue ! cudaintegralhist name=hist "
        + hist
        + " bins=8 regions=0,0,1,1 ! queue leaky=downstream max-size-buffers=3 max-size-time=0 ! "
          "tee name=tee allow-not-linked=true "
          "tee. ! queue ! integralhisttrack name=track method=fragments targets=1,1,8,8 ! "
          "integralhistoverlay "
          "name=overlay ! "
          "appsink name=first drop=true max-buffers=3 sync=false async=false "
          "tee. ! queue ! cudaintegralimage name=image squared=true "
        + hist
        + " ! integralhistlikelihood name=likelihood messages=true ! "
          "appsink name=second drop=true max-buffers=2 sync=false async=false";
    g_autoptr (GError) error = nullptr;
    pipeline_ = gst_parse_launch (line.c_str (), &error);
    REQUIRE (pipeline_ && !error, "%s", error ? error->message : "no pipeline");
    g_signal_connect (element ("source").get (), "seek-data",
                      G_CALLBACK (+[] (GstElement *, guint64, gpointer) { return TRUE; }), nullptr);
  }
  ~Storm ()
  {
    gst_clear_caps (&caps_);
    gst_object_unref (pipeline_);
  }

  void run ()
  {
    gst_element_set_state (pipeline_, GST_STATE_PLAYING);
    start ("properties", 3000, &Storm::change_property);
    start ("states", 250000, &Storm::change_state);
    start ("seeks", 40000, &Storm::seek);
    start ("source", 2000, &Storm::push_frame);
    start ("mouse", 40000, &Storm::move_mouse);
    start ("branches", 200000, &Storm::relink);
    start_consumer ("first");
    start_consumer ("second");
    start ("bus", 0, &Storm::read_bus);
    watch ();
    for (Worker &worker : workers_)
      worker.thread.join ();
    last_watch_.join ();
    gst_element_set_state (pipeline_, GST_STATE_NULL);
    REQUIRE (samples_ > 0 || options_.seconds < 5, "no sample came");
    std::printf ("%u samples, %u questions, %u changes, %u errors\n", samples_.load (),
                 questions_.load (), changes_.load (), errors_.load ());
  }

  void tell () const
  {
    for (const Worker &worker : workers_)
      std::fprintf (stderr, "  %s: %s\n", worker.name, worker.doing.load ());
  }

private:
  using Element = std::unique_ptr<GstElement, void (*) (gpointer)>;

  Element element (const char *name)
  {
    return { gst_bin_get_by_name (GST_BIN (pipeline_), name), gst_object_unref };
  }

  /// A thread that calls `work` again and again, with pauses of up to so many microseconds.
  void start (const char *name, int most_pause, void (Storm::*work) (Worker &, Random &))
  {
    Worker &worker = workers_.emplace_back ();
    worker.name = name;
    worker.thread =
        std::thread ([this, &worker, most_pause, work, seed = options_.seed + workers_.size ()] {
          Random random (seed);
          while (!stopping_) {
            (this->*work) (worker, random);
            worker.doing = "pausing";
            g_usleep (gulong (random.between (0, most_pause)));
          }
          worker.doing = "done";
        });
  }

  // the work of the threads

  void change_property (Worker &worker, Random &random)
  {
    const auto target = element (random.one_of (kElements));
    guint n = 0;
    g_autofree GParamSpec **specs =
        g_object_class_list_properties (G_OBJECT_GET_CLASS (target.get ()), &n);
    GParamSpec *const spec = specs[random.between (0, int (n) - 1)];
    worker.doing = spec->name;
    if ((spec->flags & G_PARAM_READABLE) && random.with (0.3)) {
      GValue value = G_VALUE_INIT;
      g_object_get_property (G_OBJECT (target.get ()), spec->name, &value);
      g_value_unset (&value);
    } else if (spec->flags & G_PARAM_WRITABLE) {
      set_property (G_OBJECT (target.get ()), spec, random);
      changes_++;
    }
  }

  void set_property (GObject *object, GParamSpec *spec, Random &random)
  {
    // properties that the program needs unchanged, or that would make its frames wait for ever
    for (const char *left_alone :
         { "name", "parent", "backend", "max-tensors", "cuda-device-id", "tuning-time", "lut" })
      if (!std::strcmp (spec->name, left_alone))
        return;
    GValue value = G_VALUE_INIT;
    g_value_init (&value, spec->value_type);
    if (spec->value_type == G_TYPE_BOOLEAN) {
      g_value_set_boolean (&value, random.with (0.5));
    } else if (spec->value_type == G_TYPE_STRING) {
      g_value_set_string (&value, text_for (spec->name, random));
    } else if (spec->value_type == G_TYPE_UINT) {
      g_value_set_uint (&value, random.with (0.02) ? guint (random.word ())
                                                   : guint (random.between (0, 12)));
      if (!std::strcmp (spec->name, "async-depth") || !std::strcmp (spec->name, "interval"))
        g_value_set_uint (&value, guint (random.between (1, 4)));
    } else if (spec->value_type == G_TYPE_UINT64) {
      g_value_set_uint64 (&value, random.one_of ({ 0ul, 0ul, 30000ul, 1000000ul }));
    } else if (spec->value_type == G_TYPE_DOUBLE) {
      g_value_set_double (&value, random.share ());
    } else if (G_TYPE_IS_ENUM (spec->value_type)) {
      const GEnumClass *const values = G_PARAM_SPEC_ENUM (spec)->enum_class;
      g_value_set_enum (&value,
                        values->values[random.between (0, int (values->n_values) - 1)].value);
    } else {
      g_value_unset (&value);
      return;
    }
    g_object_set_property (object, spec->name, &value);
    g_value_unset (&value);
  }

  static const char *text_for (const std::string &property, Random &random)
  {
    if (property == "cuda-device-ids")
      return random.one_of ({ "", "", "0,1,2", "0", "0,0" });
    if (property == "histogram")
      return random.one_of ({ "", "", "", "1,2,3,4,5,6,7,8", "1,nan" });
    if (property == "feature")
      return random.one_of ({ "", "", "", "luma", "hue", "1,2" });
    if (property == "area")
      return random.one_of ({ "", "", "", "0,0,40,40", "-5,-5,60,60;50,0,60,90", "1,2,3" });
    if (property == "model")
      return random.one_of ({ "", "", "0,0,9,9", "-5,-5,9,9", "1,1" });
    return random.one_of ({ "", "0,0,1,1", "0,0,9,9;0,0,1000,1000", "-5,-5,20,20",
                            " 0 , 0 , 3 , 4 ; ", "90,80,1,1", "1,2,3" });
  }

  void change_state (Worker &worker, Random &random)
  {
    const std::lock_guard lock (states_);
    const GstState state = random.one_of ({ GST_STATE_PLAYING, GST_STATE_PLAYING, GST_STATE_PLAYING,
                                            GST_STATE_PAUSED, GST_STATE_READY, GST_STATE_NULL });
    worker.doing = gst_element_state_get_name (state);
    gst_element_set_state (pipeline_, state);
    changes_++;
  }

  void seek (Worker &worker, Random &random)
  {
    if (random.with (0.1)) {
      worker.doing = "EOS";
      gst_app_src_end_of_stream (GST_APP_SRC (element ("source").get ()));
    } else if (random.with (0.2)) {
      worker.doing = "flush";
      // if a state change begins between the two, GStreamer's source waits for ever
      const std::lock_guard lock (states_);
      gst_element_send_event (pipeline_, gst_event_new_flush_start ());
      gst_element_send_event (pipeline_, gst_event_new_flush_stop (TRUE));
    } else {
      worker.doing = "seek";
      gst_element_seek_simple (pipeline_, GST_FORMAT_TIME,
                               GstSeekFlags (GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_KEY_UNIT),
                               random.between (0, 100) * GST_MSECOND);
    }
    changes_++;
  }

  /// A frame, now and then of another size and format.
  void push_frame (Worker &worker, Random &random)
  {
    worker.doing = "pushing a frame";
    if (!caps_ || random.with (0.03)) {
      gst_clear_caps (&caps_);
      caps_ = gst_caps_new_simple (
          "video/x-raw", "format", G_TYPE_STRING,
          random.one_of ({ "GRAY8", "I420", "BGRx", "YUY2", "RGB", "GRAY16_LE" }), "width",
          G_TYPE_INT, random.between (1, 120), "height", G_TYPE_INT, random.between (1, 90),
          "framerate", GST_TYPE_FRACTION, 0, 1, nullptr);
    }
    GstVideoInfo info;
    REQUIRE (gst_video_info_from_caps (&info, caps_), "no video");
    GstBuffer *const buffer = gst_buffer_new_allocate (nullptr, info.size, nullptr);
    gst_buffer_memset (buffer, 0, guint8 (random.word ()), info.size);
    gst_buffer_memset (buffer, info.size / 3, guint8 (random.word ()), info.size / 3);
    GST_BUFFER_PTS (buffer) = guint64 (samples_) * GST_MSECOND;
    g_autoptr (GstSample) sample = gst_sample_new (buffer, caps_, nullptr, nullptr);
    gst_buffer_unref (buffer);
    gst_app_src_push_sample (GST_APP_SRC (element ("source").get ()),
                             sample);  // refused while it flushes or is at the end
  }

  void move_mouse (Worker &worker, Random &random)
  {
    worker.doing = "mouse";
    const auto sink = element ("first");
    g_autoptr (GstPad) pad = gst_element_get_static_pad (sink.get (), "sink");
    const double x = random.between (-50, 200), y = random.between (-50, 150);
    gst_pad_push_event (
        pad, gst_navigation_event_new_mouse_button_press (1, x, y, GST_NAVIGATION_MODIFIER_NONE));
    gst_pad_push_event (pad, gst_navigation_event_new_mouse_button_release (
                                 1, x + random.between (-30, 30), y + random.between (-30, 30),
                                 GST_NAVIGATION_MODIFIER_NONE));
    changes_++;
  }

  /// A branch of the tee that comes, gets some frames and goes.
  void relink (Worker &worker, Random &random)
  {
    static constexpr struct {
      const char *elements, *behind;  // the backend; null where nothing computes
    } kBranches[] = {
      { "integralhisttrack method=fragments targets=0,0,9,9 ! integralhistoverlay", nullptr },
      { "cudatrackfeatures tuning-time=0 backend=", " ! integralhisttrack targets=0,0,9,9" },
      { "integralhistlikelihood", nullptr },
      { "cudaintegralimage tuning-time=0 regions=0,0,1,1 backend=", "" },
      { "cudaintegralhist tuning-time=0 bins=3 cuda-device-ids=0,1,2 backend=", "" },
      { "cudaintegralhist tuning-time=0 compute=on-demand cuda-device-ids=0,1 backend=",
        " ! integralhistlikelihood" },
    };
    const auto &[elements, behind] = random.one_of (kBranches);
    const std::string line = std::string ("queue ! ") + elements
                             + (behind ? options_.backend + behind : "")
                             + " ! fakesink async=false";
    worker.doing = "adding a branch";
    GstElement *const branch = gst_parse_bin_from_description (line.c_str (), TRUE, nullptr);
    REQUIRE (branch, "no branch: %s", line.c_str ());
    const auto tee = element ("tee");
    {
      const std::lock_guard lock (states_);
      gst_bin_add (GST_BIN (pipeline_), branch);
      gst_element_sync_state_with_parent (branch);
    }
    GstPad *const from = gst_element_request_pad_simple (tee.get (), "src_%u");
    g_autoptr (GstPad) to = gst_element_get_static_pad (branch, "sink");
    gst_pad_link (from, to);
    g_usleep (gulong (random.between (0, 100000)));
    worker.doing = "removing a branch";
    gst_pad_unlink (from, to);
    gst_element_release_request_pad (tee.get (), from);
    gst_object_unref (from);
    const std::lock_guard lock (states_);
    gst_element_set_locked_state (branch, TRUE);
    gst_element_set_state (branch, GST_STATE_NULL);
    gst_bin_remove (GST_BIN (pipeline_), branch);
    changes_++;
  }

  void start_consumer (const char *name)
  {
    Worker &worker = workers_.emplace_back ();
    worker.name = name;
    worker.thread = std::thread ([this, &worker, name, seed = options_.seed + workers_.size ()] {
      Random random (seed);
      const auto sink = element (name);
      std::deque<Sample> held;
      while (!stopping_) {
        worker.doing = "waiting for a sample";
        Sample sample (gst_app_sink_try_pull_sample (GST_APP_SINK (sink.get ()), 20 * GST_MSECOND),
                       gst_sample_unref);
        if (!sample) {
          g_usleep (1000);
          if (random.with (0.05))
            held.clear ();
          continue;
        }
        samples_++;
        held.push_back (std::move (sample));
        worker.doing = "asking";
        ask (held[gsize (random.between (0, int (held.size ()) - 1))].get (), random);
        if (held.size () > 30)
          held.pop_front ();
      }
      worker.doing = "done";
    });
  }

  void ask (GstSample *sample, Random &random)
  {
    gpointer state = nullptr;
    while (GstMeta *const meta = gst_buffer_iterate_meta_filtered (
               gst_sample_get_buffer (sample), &state, GST_INTEGRAL_HISTOGRAM_META_API_TYPE)) {
      GstIntegralHistogram *const histogram =
          reinterpret_cast<GstIntegralHistogramMeta *> (meta)->histogram;
      const guint width = gst_integral_histogram_get_width (histogram),
                  height = gst_integral_histogram_get_height (histogram);
      const bool sums =
          gst_integral_histogram_get_content (histogram) == GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS;
      const bool lengths =
          gst_integral_histogram_get_weight (histogram) == GST_INTEGRAL_HISTOGRAM_WEIGHT_GRADIENT;
      const guint64 pixels = guint64 (width) * height,
                    most = lengths ? 2885 * pixels
                                   : gst_integral_histogram_get_weight_unit (histogram) * pixels;
      gsize n = 0;
      guint64 area = 0;
      g_autoptr (GError) error = nullptr;
      g_autofree guint64 *answers = gst_integral_histogram_query_region_sums (
          histogram, 0, 0, int (width), int (height), &n, &error);
      REQUIRE (answers, "%s", error->message);
      REQUIRE (n == gst_integral_histogram_get_bins (histogram), "%zu planes", n);
      for (gsize i = 0; i < n && !sums; i++)
        area += answers[i];
      const auto feature = gst_integral_histogram_get_feature (histogram);
      const bool leaves_out = feature == GST_INTEGRAL_HISTOGRAM_FEATURE_HUE
                              || feature == GST_INTEGRAL_HISTOGRAM_FEATURE_LABELS
                              || feature == GST_INTEGRAL_HISTOGRAM_FEATURE_GRADIENT
                              || feature == GST_INTEGRAL_HISTOGRAM_FEATURE_SIGNED_GRADIENT;
      REQUIRE (sums || area == most || ((leaves_out || lengths) && area < most),
               "the counts of %ux%u add up to %" G_GUINT64_FORMAT, width, height, area);
      questions_++;
      if (random.with (0.1)) {
        g_autoptr (GstBuffer) tensor = gst_integral_histogram_get_buffer (histogram, &error);
        REQUIRE (tensor
                     || g_error_matches (error, GST_INTEGRAL_HISTOGRAM_ERROR,
                                         GST_INTEGRAL_HISTOGRAM_ERROR_NOT_DOWNLOADED),
                 "%s", error->message);
      }
    }
  }

  /// Errors and EOS start the pipeline anew.
  void read_bus (Worker &worker, Random &)
  {
    worker.doing = "waiting for a message";
    g_autoptr (GstBus) bus = gst_element_get_bus (pipeline_);
    GstMessage *const message = gst_bus_timed_pop (bus, 50 * GST_MSECOND);
    if (!message)
      return;
    const std::unique_ptr<GstMessage, void (*) (GstMessage *)> owner (message, gst_message_unref);
    if (GST_MESSAGE_TYPE (message) != GST_MESSAGE_ERROR
        && GST_MESSAGE_TYPE (message) != GST_MESSAGE_EOS)
      return;
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
      errors_++;
      check_error (message);
    }
    worker.doing = "starting anew";
    calm_down ();
    const std::lock_guard lock (states_);
    gst_element_set_state (pipeline_, GST_STATE_READY);
    gst_element_set_state (pipeline_, GST_STATE_PLAYING);
  }

  /// Sets settings that work, which last until a thread changes one of them.
  void calm_down ()
  {
    gst_util_set_object_arg (G_OBJECT (element ("hist").get ()), "strategy", "auto");
    gst_util_set_object_arg (G_OBJECT (element ("image").get ()), "strategy", "auto");
    for (const char *producer : { "hist", "image" })
      g_object_set (element (producer).get (), "feature", GST_INTEGRAL_HISTOGRAM_FEATURE_LUMA,
                    "quantization", "", "lut", "", "lut-location", "", nullptr);
    g_object_set (element ("hist").get (), "weight", GST_INTEGRAL_HISTOGRAM_WEIGHT_ONE, "soft",
                  FALSE, nullptr);
    g_object_set (element ("hist").get (), "regions", "0,0,1,1", "max-device-memory", guint64 (0),
                  "bins", 8, "cuda-device-ids", "", "task-bins", 0, nullptr);
    g_object_set (element ("image").get (), "regions", "0,0,1,1", nullptr);
    g_object_set (element ("track").get (), "targets", "0,0,9,9", "area", "", "search-range", 3,
                  "strips", 4, nullptr);
    gst_util_set_object_arg (G_OBJECT (element ("track").get ()), "method", "fragments");
    gst_util_set_object_arg (G_OBJECT (element ("track").get ()), "measure", "chi-square-alt");
    for (const char *consumer : { "track", "overlay", "likelihood" })
      g_object_set (element (consumer).get (), "feature", "", nullptr);
    g_object_set (element ("overlay").get (), "regions", "", "trail", 3, "line-width", 1, nullptr);
    g_object_set (element ("likelihood").get (), "model", "", "histogram", "", "step", 2,
                  "window-width", 0, "window-height", 0, nullptr);
  }

  /// An error names a setting, as all of them are changed at random, or comes from an element of
  /// GStreamer that lost its neighbour. Every frame can be read, but for the first of a branch that
  /// was just added: a tee may give it the caps from before.
  static void check_error (GstMessage *message)
  {
    g_autoptr (GError) error = nullptr;
    g_autofree char *debug = nullptr;
    gst_message_parse_error (message, &error, &debug);
    const std::string text = error->message;
    static std::set<std::string> told;
    if (told.insert (text.substr (0, 30)).second)
      std::printf ("%s: %s\n", GST_OBJECT_NAME (GST_MESSAGE_SRC (message)), text.c_str ());
    const bool lasting =
        std::ranges::find (kElements,
                           std::string_view (GST_OBJECT_NAME (GST_MESSAGE_SRC (message))))
        != std::end (kElements);
    REQUIRE (!lasting || !g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT), "%s",
             text.c_str ());
    constexpr const char *kExpected[] = {
      "strategy",        "regions",   "targets",    "area",         "model", "method",
      "measure",         "histogram", "bins",       "quantization", "lut",   "feature",
      "cuda-device-ids", "counter",   "of weights", "window",       "step",  "strips",
      "search-range",    "trail",     "line-width", "out of range", "emory"
    };
    for (const char *expected : kExpected)
      if (text.find (expected) != std::string::npos)
        return;
    REQUIRE (error->domain == GST_STREAM_ERROR || error->domain == GST_CORE_ERROR, "%s (%s)",
             text.c_str (), debug ? debug : "");
  }

  /// Waits for the end, and fails if no more samples come.
  void watch ()
  {
    const auto end = end_of (options_);
    guint last = 0;
    for (int still = 0; std::chrono::steady_clock::now () < end; g_usleep (G_USEC_PER_SEC)) {
      const guint now = samples_;
      still = now == last ? still + 1 : 0;
      last = now;
      REQUIRE (still < kStuckSeconds, "no sample for %d seconds", still);
    }
    stopping_ = true;
    // the threads are joined next; the last watch finds one that hangs there
    last_watch_ = std::thread ([this] {
      for (int tenths = 0; tenths < 10 * kStuckSeconds; tenths++) {
        g_usleep (G_USEC_PER_SEC / 10);
        if (all_done ())
          return;
      }
      REQUIRE (false, "a thread does not end");
    });
  }

  bool all_done () const
  {
    for (const Worker &worker : workers_)
      if (std::strcmp (worker.doing, "done"))
        return false;
    return true;
  }

  const ProgramOptions options_;
  std::thread last_watch_;  // that the others end
  GstElement *pipeline_;
  GstCaps *caps_ = nullptr;  // of the thread that pushes
  std::mutex states_;
  std::deque<Worker> workers_;
  std::atomic<bool> stopping_ = false;
  std::atomic<guint> samples_ = 0, questions_ = 0, changes_ = 0, errors_ = 0;
};

Storm *storm;

}  // namespace

int main (int argc, char **argv)
{
  const ProgramOptions options = read_options (argc, argv);
  gst_init (nullptr, nullptr);
  storm = new Storm (options);
  tell_at_the_end ([] { storm->tell (); });
  storm->run ();
  tell_at_the_end ([] {});
  delete storm;
  std::fflush (stdout);
  gst_deinit ();
  return 0;
}
