// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A frame behind integralhistkeepmetas has its own metas, whatever the elements inside do to frames
// and timestamps. Each frame has one gray level, which is the truth: a histogram on it must be of
// that level.
#include <deque>
#include <functional>
#include <thread>

#include <gst/app/gstappsrc.h>

#include "pipelines.hpp"
#include "test.hpp"

namespace {

constexpr int kFrames = 60, kSide = 16, kPixels = kSide * kSide;
constexpr const char *kCaps = "video/x-raw,format=GRAY8,width=16,height=16,framerate=25/1",
                     *kBytes = "gdppay ! gdpdepay";  // which hand on no metas

enum class Times { own, pairs, same, none };
constexpr Times kAllTimes[] = { Times::own, Times::pairs, Times::same, Times::none };

GstClockTime time_of (Times times, int frame)
{
  constexpr GstClockTime kFrame = GST_SECOND / 25;
  switch (times) {
    case Times::own: return GstClockTime (frame) * kFrame;
    case Times::pairs: return GstClockTime (frame / 2) * 2 * kFrame;
    case Times::same: return 0;
    case Times::none: break;
  }
  return GST_CLOCK_TIME_NONE;
}

struct Outcome {
  int own = 0, others = 0, none = 0;
  std::vector<std::string> warnings;
};

/// Pushes frames of the gray levels 1 to kFrames through the elements inside.
Outcome run (const std::string &inside, Times times, bool with_metas = true)
{
  Pipeline pipeline (std::string ("appsrc name=src format=time caps=\"") + kCaps + "\" ! "
                     + (with_metas ? "cudaintegralhist backend=cpu bins=256 tuning-time=0 ! " : "")
                     + "integralhistkeepmetas element=\"" + inside
                     + "\" ! appsink name=sink sync=false");
  g_autoptr (GstElement) source = pipeline.element ("src");
  pipeline.set_state (GST_STATE_PLAYING);
  for (int frame = 0; frame < kFrames; frame++) {
    GstBuffer *const buffer = even (gray (kSide, kSide), guint8 (frame + 1));
    GST_BUFFER_PTS (buffer) = time_of (times, frame);
    fail_unless_equals_int (gst_app_src_push_buffer (GST_APP_SRC (source), buffer), GST_FLOW_OK);
  }
  gst_app_src_end_of_stream (GST_APP_SRC (source));
  Outcome outcome;
  for (;;) {
    const Sample sample (gst_app_sink_pull_sample (GST_APP_SINK (pipeline.sink)));
    if (!sample)
      break;
    guint8 level = 0;
    gst_buffer_extract (gst_sample_get_buffer (sample.get ()), 0, &level, 1);
    const GstIntegralHistogramMeta *const meta = meta_of (sample);
    guint32 counts[256] = {};
    if (meta)
      fail_unless (
          gst_integral_histogram_region (meta->histogram, 0, 0, kSide, kSide, counts, nullptr));
    (!meta ? outcome.none : counts[level] == kPixels ? outcome.own : outcome.others)++;
  }
  while (GstMessage *const message = gst_bus_pop_filtered (pipeline.bus, GST_MESSAGE_WARNING)) {
    g_autoptr (GError) warning = nullptr;
    gst_message_parse_warning (message, &warning, nullptr);
    outcome.warnings.push_back (warning->message);
    gst_message_unref (message);
  }
  return outcome;
}

/// Fails unless all frames, at least so many, have their own metas.
void expect_own (const std::string &inside, Times times, int least)
{
  const Outcome is = run (inside, times);
  fail_unless (is.own >= least && is.others == 0 && is.none == 0 && is.warnings.empty (),
               "%s, times %d: %d own, %d of others, %d without, %zu warnings", inside.c_str (),
               int (times), is.own, is.others, is.none, is.warnings.size ());
}

// an element that makes new buffers, without metas and in any order

using Push = std::function<void (GstBuffer *)>;

/// The work of the element of this name on each buffer (transfer full).
std::function<void (const std::string &name, GstBuffer *, const Push &)> odd_work;

struct OddElement {
  GstElement element;
  GstPad *src;
};
struct OddElementClass {
  GstElementClass parent;
};

GstFlowReturn odd_chain (GstPad *, GstObject *parent, GstBuffer *buffer)
{
  GstFlowReturn flow = GST_FLOW_OK;
  GstMapInfo map;
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  GstBuffer *const fresh = gst_buffer_new_memdup (map.data, map.size);
  gst_buffer_unmap (buffer, &map);
  GST_BUFFER_PTS (fresh) = GST_BUFFER_PTS (buffer);
  gst_buffer_unref (buffer);
  odd_work (GST_OBJECT_NAME (parent), fresh, [&] (GstBuffer *out) {
    flow = gst_pad_push (reinterpret_cast<OddElement *> (parent)->src, out);
  });
  return flow;
}

G_DEFINE_TYPE (OddElement, odd_element, GST_TYPE_ELEMENT)

void odd_element_class_init (OddElementClass *klass)
{
  gst_element_class_set_static_metadata (GST_ELEMENT_CLASS (klass), "Odd", "Filter/Video",
                                         "Makes new buffers in any order", "The authors");
  g_autoptr (GstCaps) caps = gst_caps_from_string ("video/x-raw");
  for (const auto &[name, direction] :
       { std::pair ("sink", GST_PAD_SINK), std::pair ("src", GST_PAD_SRC) })
    gst_element_class_add_pad_template (
        GST_ELEMENT_CLASS (klass), gst_pad_template_new (name, direction, GST_PAD_ALWAYS, caps));
}

void odd_element_init (OddElement *self)
{
  GstElementClass *const klass = GST_ELEMENT_GET_CLASS (self);
  GstPad *const sink =
      gst_pad_new_from_template (gst_element_class_get_pad_template (klass, "sink"), "sink");
  self->src = gst_pad_new_from_template (gst_element_class_get_pad_template (klass, "src"), "src");
  gst_pad_set_chain_function (sink, odd_chain);
  GST_PAD_SET_PROXY_CAPS (sink);
  gst_element_add_pad (GST_ELEMENT (self), sink);
  gst_element_add_pad (GST_ELEMENT (self), self->src);
}

void register_odd_element ()
{
  fail_unless (gst_element_register (nullptr, "odd", GST_RANK_NONE, odd_element_get_type ()));
}

// what an odd element does to frames

std::deque<GstBuffer *> held;
int n_taken = 0;  // frames before this one

void push_first (const Push &push)
{
  push (held.front ());
  held.pop_front ();
}

void hold (GstBuffer *buffer, const Push &push)
{
  held.push_back (buffer);
  if (held.size () > 1)
    push_first (push);
}

void drop_held ()
{
  for (; !held.empty (); held.pop_front ())
    gst_buffer_unref (held.front ());
}

struct OddCase {
  const char *what;
  int least_own;  // of the frames before it is seen
  void (*work) (GstBuffer *, const Push &);
};

constexpr OddCase kOddCases[] = {
  { "late by one", 0, hold },
  { "late by one, with the time of the next", 0,
    [] (GstBuffer *buffer, const Push &push) {
      if (!held.empty ())
        GST_BUFFER_PTS (held.front ()) = GST_BUFFER_PTS (buffer);
      hold (buffer, push);
    } },
  { "late after some frames", 5,
    [] (GstBuffer *buffer, const Push &push) {
      held.push_back (buffer);
      if (n_taken < 5 || held.size () > 3)
        push_first (push);
    } },
  { "drops every third", 2,
    [] (GstBuffer *buffer, const Push &push) {
      if (n_taken % 3 == 2)
        gst_buffer_unref (buffer);
      else
        push (buffer);
    } },
  { "drops, and is late", 0,
    [] (GstBuffer *buffer, const Push &push) {
      if (n_taken % 3 == 2)
        gst_buffer_unref (buffer);
      else
        hold (buffer, push);
    } },
  { "another thread", 0,
    [] (GstBuffer *buffer, const Push &push) { std::thread ([&] { push (buffer); }).join (); } },
  { "swaps two", 0,
    [] (GstBuffer *buffer, const Push &push) {
      held.push_front (buffer);
      if (n_taken % 2 == 1) {
        push_first (push);
        push_first (push);
      }
    } },
};

/// Runs frames through an odd element.
Outcome run_odd (const OddCase &c, const std::string &inside, Times times, bool with_metas = true)
{
  n_taken = 0;
  odd_work = [&] (const std::string &, GstBuffer *buffer, const Push &push) {
    c.work (buffer, push);
    n_taken++;
  };
  const Outcome outcome = run (inside, times, with_metas);
  odd_work = nullptr;
  drop_held ();
  return outcome;
}

/// Runs each frame twice, the second one late. No frame may have the metas of another one.
void expect_no_others_of_twins (Times times)
{
  odd_work = [&] (const std::string &name, GstBuffer *buffer, const Push &push) {
    if (name == "twice") {
      push (gst_buffer_copy_deep (buffer));
      push (buffer);
    } else {
      hold (buffer, push);
    }
  };
  const Outcome is = run ("odd name=twice ! odd name=culprit", times);
  odd_work = nullptr;
  drop_held ();
  fail_unless (is.others == 0, "times %d: %d own, %d of others", int (times), is.own, is.others);
}

}  // namespace

/// Every frame that comes out has its metas, also without a timestamp of its own.
TEST (known)
{
  for (const Times times : kAllTimes)
    for (const auto &[inside, least] :
         { std::pair ("identity", kFrames), std::pair (kBytes, kFrames),
           std::pair ("queue ! gdppay ! queue ! gdpdepay ! queue", kFrames),
           std::pair ("identity drop-probability=0.4 ! gdppay ! gdpdepay", 1),
           std::pair ("gdppay ! gdpdepay ! identity drop-probability=0.4 ! gdppay ! gdpdepay", 1),
           std::pair ("pngenc ! pngdec", kFrames),

           std::pair ("integralhistkeepmetas element=\\\"gdppay ! gdpdepay\\\"", kFrames) })
      expect_own (inside, times, least);
}

/// Frames in several packets, which come in lists. The first list has packets without a frame, too.
TEST (packets)
{
  for (const Times times : kAllTimes) {
    const Outcome is = run ("rtpgstpay mtu=100 ! rtpgstdepay", times);
    fail_unless (is.own >= kFrames - 1 && is.others == 0, "%d own, %d of others", is.own,
                 is.others);
  }
}

/// Frames that are repeated, dropped and given other timestamps.
TEST (retimed)
{
  const std::string rate = "videorate ! video/x-raw,framerate=",
                    bytes = std::string (" ! ") + kBytes;
  expect_own (rate + "50/1" + bytes, Times::own, 2 * kFrames - 2);
  expect_own (rate + "30/1" + bytes, Times::own, kFrames);
  expect_own (rate + "10/1" + bytes, Times::own, kFrames / 3);
  expect_own ("videorate rate=0.5" + bytes, Times::own, kFrames);
  expect_own ("videorate rate=2" + bytes, Times::own, kFrames / 3);
  expect_own ("videorate" + bytes, Times::pairs, kFrames / 2);
  expect_own ("identity ts-offset=40000000" + bytes, Times::own, kFrames);
  expect_own ("imagefreeze num-buffers=9", Times::own, 9);
}

/// An element makes new buffers late, in another order or thread, or not all of them. No frame gets
/// the metas of another one. A warning says so, once, and names the element.
TEST (unknown)
{
  register_odd_element ();
  for (const Times times : kAllTimes)
    for (const OddCase &c : kOddCases) {
      const Outcome is = run_odd (c, "identity ! odd name=culprit ! queue", times);
      fail_unless (is.others == 0 && is.own >= c.least_own && is.none > kFrames / 2,
                   "%s, times %d: %d own, %d of others, %d without", c.what, int (times), is.own,
                   is.others, is.none);
      fail_unless (is.warnings.size () == 1
                       && is.warnings[0].find ("culprit does not make one new buffer")
                              != std::string::npos,
                   "%s, times %d: %zu warnings: %s", c.what, int (times), is.warnings.size (),
                   is.warnings.empty () ? "" : is.warnings[0].c_str ());
      // a stream without metas has none to lose
      fail_unless (run_odd (c, "odd ! queue", times, false).warnings.empty (), "%s", c.what);
    }
  for (const Times times : kAllTimes)
    expect_no_others_of_twins (times);
}
