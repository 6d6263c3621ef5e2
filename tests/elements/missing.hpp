// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames without a histogram before an element that needs one: frames that lack it for a while, and
// frames that never have one.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "test.hpp"  // last: it has macros with names of the standard library
#include <gst/integralhist/gstintegralhist.h>

#include "frames.hpp"

/// The outcome of a pipeline.
struct Outcome {
  bool eos = false;
  std::vector<std::string> errors, warnings;
  guint arrived = 0;  // frames at the element
  guint counted = 0;  // frames with a histogram at the element
};

/// Handles each buffer at a pad; returns true if it is to be dropped.
using Meddle = std::function<bool (guint number, GstBuffer *buffer)>;

/// `before` is the part of the line before the element; `meddle` is a probe behind the element
/// named `at`.
inline Outcome run_with (const std::string &element, const std::string &before, int frames,
                         const char *at = nullptr, Meddle meddle = nullptr)
{
  const std::string line = "videotestsrc name=source num-buffers=" + std::to_string (frames)
                           + " ! video/x-raw,format=GRAY8,width=64,height=48,framerate=30/1 ! "
                           + before + element + " name=asks ! fakesink sync=false";
  g_autoptr (GError) problem = nullptr;
  g_autoptr (GstElement) pipeline = gst_parse_launch (line.c_str (), &problem);
  fail_unless (pipeline && !problem, "%s: %s", line.c_str (), problem ? problem->message : "");
  struct Probe {
    Meddle meddle;
    guint n = 0;
  };
  Outcome outcome;
  const auto add_probe = [pipeline] (const char *name, const char *pad_name, Probe *probe) {
    g_autoptr (GstElement) of = gst_bin_get_by_name (GST_BIN (pipeline), name);
    g_autoptr (GstPad) pad = gst_element_get_static_pad (of, pad_name);
    const auto call = [] (GstPad *, GstPadProbeInfo *info, gpointer data) {
      auto *const probe = static_cast<Probe *> (data);
      GstBuffer *const buffer = gst_buffer_make_writable (GST_PAD_PROBE_INFO_BUFFER (info));
      GST_PAD_PROBE_INFO_DATA (info) = buffer;
      return probe->meddle (probe->n++, buffer) ? GST_PAD_PROBE_DROP : GST_PAD_PROBE_OK;
    };
    gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, call, probe, nullptr);
  };
  Probe meddling = { std::move (meddle) },
        counting = { [&] (guint, GstBuffer *buffer) {
          outcome.arrived++;
          outcome.counted += gst_buffer_get_integral_histogram_meta (buffer) != nullptr;
          return false;
        } };
  if (at)
    add_probe (at, "src", &meddling);
  add_probe ("asks", "sink", &counting);
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  g_autoptr (GstElement) asks = gst_bin_get_by_name (GST_BIN (pipeline), "asks");
  // after an error the source posts one too, which is of no interest
  for (bool done = false; !done;) {
    g_autoptr (GstMessage) message = gst_bus_timed_pop_filtered (
        bus, 30 * GST_SECOND,
        GstMessageType (GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING));
    fail_unless (message != nullptr, "%s: no end", line.c_str ());
    const GstMessageType type = GST_MESSAGE_TYPE (message);
    outcome.eos |= type == GST_MESSAGE_EOS;
    done = type != GST_MESSAGE_WARNING;
    if (type == GST_MESSAGE_EOS || GST_MESSAGE_SRC (message) != GST_OBJECT (asks))
      continue;
    g_autoptr (GError) error = nullptr;
    (done ? gst_message_parse_error : gst_message_parse_warning) (message, &error, nullptr);
    if (!done && strstr (error->message, "leaves frames without a histogram"))
      continue;  // the caller chose the producer's interval
    fail_unless (g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED), "%s",
                 error->message);
    (done ? outcome.errors : outcome.warnings).push_back (error->message);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  return outcome;
}

inline std::string producer (int interval)
{
  return "cudaintegralhist name=hist backend=cpu bins=8 tuning-time=0 interval="
         + std::to_string (interval) + " ! ";
}

/// Takes a frame's histogram away, and does not drop the frame.
inline bool take_histogram (guint, GstBuffer *buffer)
{
  if (GstIntegralHistogramMeta *const meta = gst_buffer_get_integral_histogram_meta (buffer))
    gst_buffer_remove_meta (buffer, reinterpret_cast<GstMeta *> (meta));
  return false;
}

/// Lost frames with a histogram do not end the stream.
inline void check_lost (const char *element)
{
  const auto expect_eos = [&] (const std::string &what, const Outcome &outcome) {
    fail_unless (outcome.eos && outcome.errors.empty () && outcome.warnings.empty (), "%s: %s",
                 what.c_str (), outcome.errors.empty () ? "" : outcome.errors[0].c_str ());
    fail_unless (outcome.counted > 0 && outcome.arrived > outcome.counted, "%s: %u of %u",
                 what.c_str (), outcome.counted, outcome.arrived);
  };
  for (const int interval : { 2, 5 }) {
    for (const int lost : { 1, interval, 3 * interval, 10 * interval })  // on their way
      expect_eos (std::to_string (lost) + " lost",
                  run_with (element, producer (interval), 20 * interval, "hist",
                            [&] (guint n, GstBuffer *) { return int (n) < lost; }));
    // every frame with a histogram, of the first ones
    expect_eos ("those with a histogram",
                run_with (element, producer (interval), 15 * interval, "hist",
                          [&] (guint n, GstBuffer *buffer) {
                            return int (n) < 10 * interval
                                   && gst_buffer_get_integral_histogram_meta (buffer);
                          }));
    // the first frames with a number of the interval are gaps without a picture, and do not count
    expect_eos ("gaps", run_with (element, producer (interval), 15 * interval, "source",
                                  [&] (guint n, GstBuffer *buffer) {
                                    if (int (n) < 9 * interval && n % guint (interval) == 0)
                                      empty (buffer);
                                    return false;
                                  }));
    const Outcome leaky =
        run_with (element,
                  producer (interval)
                      + "queue leaky=downstream max-size-buffers=1 ! identity sleep-time=3000 ! ",
                  90);
    fail_unless (leaky.eos && leaky.errors.empty (), "a leaky queue: %s",
                 leaky.errors.empty () ? "" : leaky.errors[0].c_str ());
  }
}

/// If no frame has a histogram, an error says why.
inline void check_none (const char *element)
{
  // no element attaches a histogram: the error comes at once
  for (const char *before :
       { "", "cudaintegralimage backend=cpu tuning-time=0 ! ", "identity ! " }) {
    const Outcome outcome = run_with (element, before, 50);
    fail_unless (!outcome.eos && outcome.errors.size () == 1 && outcome.arrived == 1,
                 "%zu errors, %u frames", outcome.errors.size (), outcome.arrived);
    expect_parts (outcome.errors[0], { "put cudaintegralhist before" });
  }
  // an element attaches histograms, and another one removes them
  for (const int interval : { 1, 2, 25 }) {
    const Outcome outcome = run_with (element, producer (interval), 2000, "hist", take_histogram);
    fail_unless (!outcome.eos && outcome.errors.size () == 1 && outcome.counted == 0,
                 "interval %d: %zu errors", interval, outcome.errors.size ());
    expect_parts (outcome.errors[0], { "an element between", "right after cudaintegralhist" });
    fail_unless (outcome.arrived >= 100 && outcome.arrived <= 500, "interval %d: after %u frames",
                 interval, outcome.arrived);
  }
  // the stream is too short for the error: its end warns
  const Outcome brief = run_with (element, producer (1), 20, "hist", take_histogram);
  fail_unless (brief.eos && brief.errors.empty () && brief.warnings.size () == 1,
               "a short stream: %zu errors, %zu warnings", brief.errors.size (),
               brief.warnings.size ());
  expect_parts (brief.warnings[0], { "not one of its 20 frames" });
#if GST_CHECK_VERSION(1, 28, 0)
  g_print ("SKIP: turned: the meta follows a turn; tests/elements/follows.cpp looks at it\n");
#else
  // a frame that is turned has another histogram
  const Outcome turned =
      run_with (element, producer (2) + "videoflip video-direction=90r ! ", 2000);
  fail_unless (
      !turned.eos && turned.errors.size () == 1 && turned.counted == 0 && turned.arrived <= 500,
      "turned: %zu errors, %u of %u", turned.errors.size (), turned.counted, turned.arrived);
#endif
  // losing histograms after frames that had one is not an error
  const Outcome later =
      run_with (element, producer (1), 700, "hist",
                [] (guint n, GstBuffer *buffer) { return n > 3 && take_histogram (n, buffer); });
  fail_unless (later.eos && later.errors.empty () && later.counted == 4);
}
