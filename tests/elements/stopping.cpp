// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A stop and a flush do not wait for a running computation, whichever thread waits for it. A
// computation here takes a second: one thread fills a gigabyte. library/tuning.cpp tests the
// tuner's part of it.
#include <functional>

#include "attempts.hpp"
#include "pipelines.hpp"
#include "test.hpp"

namespace {

/// "At once", in microseconds. AddressSanitizer gets twice the time: it marks every byte that is
/// freed, but computes three times as long.
constexpr gint64 kAtOnce = 300 * 1000 * (kMarksMemory ? 2 : 1);

constexpr const char *kSize = kMarksMemory ? "width=1920,height=1080" : "width=2560,height=1440",
                     *kSlow = "backend=cpu compute=eager strategy=serial bins=64 tuning-time=0";

std::string line (const std::string &properties, const std::string &behind = "",
                  const std::string &sink = "fakesink sync=false")
{
  return std::string ("videotestsrc pattern=snow ! video/x-raw,format=GRAY8,framerate=30/1,")
         + kSize + " ! cudaintegralhist name=hist " + kSlow + " " + properties + " ! " + behind
         + sink + " name=sink";
}

/// Waits until the engine is at work.
void wait_for_work (Pipeline &pipeline)
{
  for (int ms = 0; pipeline.stat_of ("hist", "in-flight") == 0; ms++) {
    fail_unless (ms < 20000, "nothing is computed");
    g_usleep (1000);
  }
  g_usleep (100 * 1000);  // a thread that needs the tensor waits for it now
}

bool at_once (const char *what, const std::function<void ()> &call)
{
  const gint64 start = g_get_monotonic_time ();
  call ();
  const gint64 took = g_get_monotonic_time () - start;
  printf ("%s: %d ms\n", what, int (took / 1000));
  return took < kAtOnce;
}

void in_three_attempts (const std::function<bool ()> &attempt)
{
  fail_unless (one_of_three (attempt), "each of three attempts took too long");
}

const struct {
  const char *what, *properties, *behind;
} kSettings[] = {
  { "frames in flight", "", "" },
  { "sync", "sync=true", "" },
  { "regions", "regions=3,3,50,50", "" },
  { "a tracker that waits", "", "integralhisttrack method=fragments targets=9,9,50,50 ! " },
  { "a likelihood map that waits", "", "integralhistlikelihood step=16 ! " },
  { "a likelihood map that computes", "compute=on-demand", "integralhistlikelihood step=16 ! " },
  { "an overlay that waits", "", "integralhistoverlay regions=9,9,50,50 histograms=true ! " },
  { "pretended devices", "cuda-device-ids=0,1", "" },
  { "pretended devices, sync", "cuda-device-ids=0,1 sync=true regions=3,3,50,50", "" },
  { "rounds", "max-device-memory=300000000", "" },
  { "rounds that are waited for", "max-device-memory=300000000",
    "queue ! integralhisttrack method=fragments targets=9,9,50,50 ! " },
  { "pretended devices that a likelihood map waits for", "compute=on-demand cuda-device-ids=0,1",
    "integralhistlikelihood step=16 ! " },
};

}  // namespace

/// A stop, to NULL.
TEST_EACH (stop, std::size (kSettings))
{
  const auto &[what, properties, behind] = kSettings[__i__];
  if (*behind && !there_is (behind, "stopping"))
    return;
  in_three_attempts ([&, what = what, properties = properties, behind = behind] {
    Pipeline pipeline (line (properties, behind));
    pipeline.set_state (GST_STATE_PLAYING);
    wait_for_work (pipeline);
    const bool soon = at_once (what, [&] { pipeline.set_state (GST_STATE_NULL); });
    fail_unless (gst_bus_pop_filtered (pipeline.bus, GST_MESSAGE_ERROR) == nullptr,
                 "%s: a stop is an error", what);
    return soon;
  });
}

constexpr int kFlushed[] = { 0, 1, 2, 3, 9, 11 };  // of kSettings

/// A flush, and a stop behind it.
TEST_EACH (flush, std::size (kFlushed))
{
  const auto &[what, properties, behind] = kSettings[kFlushed[__i__]];
  in_three_attempts ([&, what = what, properties = properties, behind = behind] {
    Pipeline pipeline (line (properties, behind));
    pipeline.set_state (GST_STATE_PLAYING);
    wait_for_work (pipeline);
    const bool flushed = at_once ((std::string ("a flush, ") + what).c_str (),
                                  [&] { fail_unless (pipeline.seek (5 * GST_SECOND)); });
    const bool stopped = at_once ((std::string ("behind it, ") + what).c_str (),
                                  [&] { pipeline.set_state (GST_STATE_NULL); });
    fail_unless (gst_bus_pop_filtered (pipeline.bus, GST_MESSAGE_ERROR) == nullptr,
                 "%s: a flush is an error", what);
    return flushed && stopped;
  });
}

/// Messages of frames before a flush do not come behind it.
TEST (stale)
{
  // several frames wait for their turn
  Pipeline pipeline (
      std::string ("videotestsrc ! video/x-raw,format=GRAY8,framerate=30/1,width=1280,height=720 ! "
                   "cudaintegralhist name=hist async-depth=4 regions=3,3,50,50 ")
      + kSlow + " ! fakesink sync=false name=sink");
  pipeline.set_state (GST_STATE_PLAYING);
  wait_for_work (pipeline);
  while (pipeline.stat_of ("hist", "in-flight") < 4)
    g_usleep (1000);
  fail_unless (pipeline.seek (5 * GST_SECOND));
  gst_bus_set_flushing (pipeline.bus, TRUE);
  gst_bus_set_flushing (pipeline.bus, FALSE);
  for (int i = 0; i < 2; i++) {
    g_autoptr (GstMessage) message = pipeline.message (GST_MESSAGE_ELEMENT);
    GstClockTime timestamp = 0;
    gst_structure_get_uint64 (gst_message_get_structure (message), "timestamp", &timestamp);
    fail_unless (timestamp >= 5 * GST_SECOND, "a message of %d ms", int (timestamp / GST_MSECOND));
  }
}

/// A flush after one device has failed, while the other computes.
TEST (failed)
{
  g_setenv ("INTEGRALHIST_FAULT", "0:1", TRUE);
  in_three_attempts ([] {
    Pipeline pipeline (line ("cuda-device-ids=0,1"));
    pipeline.set_state (GST_STATE_PLAYING);
    gst_message_unref (pipeline.message (GST_MESSAGE_ERROR));
    const bool flushed =
        at_once ("a flush after a failure", [&] { pipeline.seek (5 * GST_SECOND); });
    return at_once ("behind it", [&] { pipeline.set_state (GST_STATE_NULL); }) && flushed;
  });
}

/// EOS waits for the messages of the frames before it, until a stop.
TEST_EACH (end, 3)
{
  const char *const properties[] = { "", "regions=3,3,50,50", "cuda-device-ids=0,1" };
  in_three_attempts ([set = properties[__i__]] {
    Pipeline pipeline (line (set));
    pipeline.set_state (GST_STATE_PLAYING);
    wait_for_work (pipeline);
    g_autoptr (GstElement) hist = pipeline.element ("hist");
    g_autoptr (GstPad) pad = gst_element_get_static_pad (hist, "sink");
    std::thread sends ([pad] { gst_pad_send_event (pad, gst_event_new_eos ()); });
    g_usleep (50 * 1000);
    const bool soon = at_once ("EOS", [&] { pipeline.set_state (GST_STATE_NULL); });
    sends.join ();
    return soon;
  });
}

/// A frame that the application holds is still computed, and is exact.
TEST_EACH (held, 3)
{
  const char *const properties[] = { "", "cuda-device-ids=0,1", "max-device-memory=300000000" };
  in_three_attempts ([set = properties[__i__]] {
    Sample sample;
    bool soon;
    {
      Pipeline pipeline (
          line (set, "", "appsink sync=false enable-last-sample=false max-buffers=1"));
      pipeline.set_state (GST_STATE_PLAYING);
      sample = pipeline.pull ();
      wait_for_work (pipeline);
      soon = at_once ("a sample is held", [&] { pipeline.set_state (GST_STATE_NULL); });
    }
    // the end of the pipeline does not end the computation either; here it may still go on
    Random random (seed ());
    expect_none (complaint (sample, random));
    return soon;
  });
}

/// Over and over, with engines that are still at work when the next one starts.
TEST (again)
{
  in_three_attempts ([] {
    Pipeline pipeline (line ("max-tensors=2 async-depth=1"));
    bool soon = true;
    for (int i = 0; i < 4; i++) {
      pipeline.set_state (GST_STATE_PLAYING);
      wait_for_work (pipeline);
      soon =
          at_once ("again", [&] { pipeline.set_state (i % 2 ? GST_STATE_READY : GST_STATE_NULL); })
          && soon;
    }
    return soon;
  });
}
