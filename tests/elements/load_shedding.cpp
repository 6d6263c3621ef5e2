// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A stream that cannot keep up lets frames pass without a histogram, by QoS events. The delay of a
// live pipeline stays bounded.
#include <atomic>

#include "attempts.hpp"
#include "pipelines.hpp"
#include "test.hpp"

constexpr GstClockTime kFrame = GST_SECOND / 30;

/// A QoS event makes late frames pass without the meta, and `skipped` counts them, if the property
/// asks for it or the source is live.
TEST (events)
{
  struct Case {
    const char *properties;
    bool live, sheds;
  };
  for (const char *element : kElements)
    for (const Case &c : { Case{ "", false, false }, Case{ "", true, true },
                           Case{ "qos=true", false, true }, Case{ "qos=true", true, true },
                           Case{ "qos=false", false, false }, Case{ "qos=false", true, false } }) {
      Harness harness (
          line_of ({ element, "", "", "cpu" }, std::string ("tuning-time=0 ") + c.properties));
      gst_harness_set_live (harness.get (), c.live);
      const std::string caps = caps_of ("GRAY8", 64, 48),
                        what =
                            std::string (element) + " " + c.properties + (c.live ? ", live" : "");
      harness.set_caps (caps);
      const GstVideoInfo info = info_of (caps);
      guint64 n = 0, skipped = 0;
      const auto has_meta = [&] {
        GstBuffer *const in = noise (info, 1);
        GST_BUFFER_PTS (in) = n++ * kFrame;
        GST_BUFFER_DURATION (in) = kFrame;
        const Buffer out = harness.pass (in);
        fail_unless (GST_BUFFER_PTS (out.get ()) == (n - 1) * kFrame);
        const bool has = gst_buffer_get_integral_histogram_meta (out.get ()) != nullptr;
        skipped += !has;
        return has;
      };
      const auto qos = [&] (GstClockTime timestamp, GstClockTimeDiff late) {
        gst_harness_push_upstream_event (
            harness.get (), gst_event_new_qos (GST_QOS_TYPE_UNDERFLOW, 1.5, late, timestamp));
        if (GstEvent *const passed = gst_harness_try_pull_upstream_event (harness.get ()))
          gst_event_unref (passed);
      };
      for (int i = 0; i < 5; i++)
        fail_unless (has_meta (), "%s: frame %d", what.c_str (), i);
      qos (4 * kFrame, 10 * kFrame);
      for (int i = 5; i <= 14; i++)
        fail_unless (has_meta () == !c.sheds, "%s: frame %d", what.c_str (), i);
      for (int i = 15; i < 20; i++)
        fail_unless (has_meta (), "%s: frame %d", what.c_str (), i);
      fail_unless_equals_uint64 (skipped, c.sheds ? 10 : 0);
      // so late that every frame is: one frame each second is computed
      qos (19 * kFrame, 100 * GST_SECOND);
      guint with = 0;
      for (int i = 0; i < 95; i++)
        with += has_meta ();
      fail_unless (with == (c.sheds ? 3 : 95), "%s: %u of 95", what.c_str (), with);
      // not after a flush, nor in another segment
      for (const bool flush : { true, false }) {
        qos (n * kFrame, 100 * GST_SECOND);
        fail_unless (has_meta () == !c.sheds);
        if (flush)
          harness.flush ();
        else
          harness.push_segment ();
        fail_unless (has_meta (), "%s: behind it", what.c_str ());
      }
      fail_unless_equals_uint64 (harness.stat_of (element, "skipped"), skipped);
    }
}

namespace {

/// Extra time for other work on this machine.
GstClockTime slack ()
{
  double load = 0;
  if (getloadavg (&load, 1) != 1)
    load = 0;
  return load / double (g_get_num_processors ()) < 1.5 ? 300 * GST_MSECOND : 1500 * GST_MSECOND;
}

/// Counts what arrives at the end of a live pipeline.
struct Live {
  GstElement *pipeline = nullptr;
  std::atomic<GstClockTime> most = 0, last = 0;  // delays
  GstClockTime last_with = 0, longest_without = 0;
  guint frames = 0;
  std::atomic<guint> with = 0;
};

}  // namespace

/// Tells whether the delay was bounded, and histograms came.
static bool keeps_up (const char *behind)
{
  GstClockTime delays[2] = {};
  double compute_ms = 0;
  bool none_for_long = false;
  for (const bool qos : { true, false }) {
    Live live;
    Pipeline pipeline (
        std::string ("videotestsrc is-live=true pattern=black ! "
                     "video/x-raw,format=GRAY8,width=1280,height=720,framerate=30/1 ! "
                     "cudaintegralhist name=hist backend=cpu compute=eager strategy=serial bins=96 "
                     "tuning-time=0 "
                     "max-tensors=4 ")
        + (qos ? "" : "qos=false ") + behind
        + "fakesink name=sink sync=true enable-last-sample=false");
    live.pipeline = GST_ELEMENT (gst_object_get_parent (GST_OBJECT (pipeline.sink)));
    g_autoptr (GstPad) pad = gst_element_get_static_pad (pipeline.sink, "sink");
    const auto see = [] (GstPad *, GstPadProbeInfo *info, gpointer data) {
      auto *const live = static_cast<Live *> (data);
      GstBuffer *const buffer = GST_PAD_PROBE_INFO_BUFFER (info);
      g_autoptr (GstClock) clock = gst_element_get_clock (live->pipeline);
      const GstClockTime pts = GST_BUFFER_PTS (buffer);
      const GstClockTimeDiff delay =
          clock ? GST_CLOCK_DIFF (pts, gst_clock_get_time (clock)
                                           - gst_element_get_base_time (live->pipeline))
                : 0;
      live->last = GstClockTime (std::max<GstClockTimeDiff> (delay, 0));
      if (pts > GST_SECOND)  // memory is allocated first
        live->most = std::max (live->most.load (), live->last.load ());
      live->frames++;
      if (gst_buffer_get_integral_histogram_meta (buffer)) {
        live->with++;
        if (live->last_with > GST_SECOND)
          live->longest_without = std::max (live->longest_without, pts - live->last_with);
        live->last_with = pts;
      }
      return GST_PAD_PROBE_OK;
    };
    gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, see, &live, nullptr);
    pipeline.set_state (GST_STATE_PLAYING);
    for (int ms = 0; live.with == 0; ms++) {
      fail_unless (ms < 30000, "no histogram");
      g_usleep (1000);
    }
    g_usleep (3500 * 1000);
    g_autoptr (GstElement) hist = pipeline.element ("hist");
    g_autoptr (GstStructure) stats = nullptr;
    g_object_get (hist, "stats", &stats, nullptr);
    guint64 skipped = 0;
    double ms = 0;
    gst_structure_get (stats, "skipped", G_TYPE_UINT64, &skipped, "compute-us-max", G_TYPE_DOUBLE,
                       &ms, nullptr);
    ms /= 1000;
    pipeline.set_state (GST_STATE_NULL);
    gst_object_unref (live.pipeline);
    printf ("qos=%d: %u frames, %u with a histogram, %d skipped, %.0f ms at most for one; delay %d "
            "ms, at most %d ms\n",
            qos, live.frames, live.with.load (), int (skipped), ms, int (live.last / GST_MSECOND),
            int (live.most / GST_MSECOND));
    delays[qos] = qos ? live.most.load () : live.last.load ();
    if (qos) {
      compute_ms = ms;
      fail_unless (skipped > 0 && live.with > 0);
      none_for_long =
          live.longest_without > GST_SECOND + GstClockTime (3 * ms) * GST_MSECOND + slack ();
    } else {
      fail_unless_equals_uint64 (skipped, 0);
      fail_unless_equals_int (live.with, live.frames);
    }
  }
  // some frames are in the making, and the next may wait for one
  const GstClockTime bound = slack () + GstClockTime (3 * compute_ms) * GST_MSECOND;
  if (compute_ms > 100)
    fail_unless (delays[0] > 1500 * GST_MSECOND,
                 "without QoS the delay is %d ms: the test says nothing",
                 int (delays[0] / GST_MSECOND));
  return delays[1] < bound && !none_for_long;
}

/// The elements of cudatrackfeatures leave out the same frames: each frame has all three tensors,
/// or none of them.
TEST (features_together)
{
  Pipeline pipeline ("videotestsrc is-live=true pattern=ball ! "
                     "video/x-raw,format=GRAY8,width=64,height=48,framerate=60/1 ! "
                     "cudatrackfeatures name=features backend=cpu tuning-time=0 ! "
                     "appsink name=sink sync=false");
  // what follows the first element takes long for a frame that has its tensor
  const auto be_slow = [] (GstPad *, GstPadProbeInfo *info, gpointer) {
    if (gst_buffer_get_integral_histogram_meta (GST_PAD_PROBE_INFO_BUFFER (info)))
      g_usleep (40000);
    return GST_PAD_PROBE_OK;
  };
  g_autoptr (GstElement) gradients = pipeline.element ("gradients");
  g_autoptr (GstPad) pad = gst_element_get_static_pad (gradients, "src");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, be_slow, nullptr, nullptr);
  pipeline.set_state (GST_STATE_PLAYING);
  int frames[4] = {};
  for (int i = 0; i < 150; i++) {
    const Sample sample = pipeline.pull ();
    const auto metas = histograms_of (gst_sample_get_buffer (sample.get ())).size ();
    fail_unless (metas <= 3);
    frames[metas]++;
  }
  fail_unless (frames[1] == 0 && frames[2] == 0 && frames[3] > 0,
               "%d frames with one tensor, %d with two, %d with three", frames[1], frames[2],
               frames[3]);
  fail_unless (frames[0] > 0, "no frame was late: the test says nothing");
}

/// A source of 30 frames a second that one thread cannot keep up with.
TEST_EACH (live, 2)
{
  const char *const behinds[] = {
    "sync=true ! ",
    "async-depth=2 ! queue ! integralhisttrack method=fragments targets=9,9,30,30 ! "
  };
  fail_unless (one_of_three ([behind = behinds[__i__]] { return keeps_up (behind); }),
               "in each of three attempts the delay was too long, or no histogram came");
}
