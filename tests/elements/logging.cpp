// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The log has the lines that it should have, and stays quiet: the test takes the lines from
// GStreamer, and compares the lines of a few frames with those of many.
#include <algorithm>
#include <mutex>
#include <thread>

#include "alone.hpp"
#include "test.hpp"

namespace {

struct Line {
  std::string category, text;
  GstDebugLevel level;
};

std::mutex mutex;
std::vector<Line> lines;

void take (GstDebugCategory *category, GstDebugLevel level, const gchar *, const gchar *, gint,
           GObject *, GstDebugMessage *message, gpointer)
{
  const std::string name = gst_debug_category_get_name (category);
  const std::lock_guard lock (mutex);
  if (name.find ("integralhist") != name.npos || name == "default")
    lines.push_back ({ name, gst_debug_message_get (message), level });
}

/// How many lines of the category have the level or a graver one, and the text.
long count (const char *category, GstDebugLevel level, const std::string &text = "")
{
  const std::lock_guard lock (mutex);
  return std::ranges::count_if (lines, [&] (const Line &line) {
    return line.category == category && line.level <= level
           && line.text.find (text) != std::string::npos;
  });
}

void start ()
{
  gst_debug_remove_log_function (gst_debug_log_default);
  gst_debug_remove_log_function (take);  // of the last start
  gst_debug_add_log_function (take, nullptr, nullptr);
  gst_debug_set_active (TRUE);
  gst_debug_set_threshold_from_string ("*integral*:6,default:6", TRUE);
  lines.clear ();
}

constexpr int kWidth = 64, kHeight = 48;

GstBuffer *frame ()
{
  return gst_buffer_new_allocate (nullptr, kWidth * kHeight, nullptr);
}

std::string gray ()
{
  return caps_of ("GRAY8", kWidth, kHeight);
}

}  // namespace

/// A loaded plugin has the category, and writes its errors there with their details.
TEST (errors)
{
  gst_object_unref (gst_element_factory_make ("cudaintegralhist", nullptr));
  bool known = false;
  g_autoptr (GSList) all = gst_debug_get_all_categories ();
  for (GSList *at = all; at; at = at->next)
    known |= !strcmp (gst_debug_category_get_name (static_cast<GstDebugCategory *> (at->data)),
                      "integralhist");
  fail_unless (known);

  g_setenv ("INTEGRALHIST_FAULT", "1:1", TRUE);
  start ();
  {
    Alone alone ("cudaintegralhist backend=cpu bins=8 sync=true cuda-device-ids=1 task-bins=1",
                 gray ());
    const std::string text =
        alone.refusal (frame (), "a fault", GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_FAILED);
    fail_unless_equals_int (count ("integralhist", GST_LEVEL_WARNING, text), 1);
    fail_unless_equals_int (count ("integralhist", GST_LEVEL_WARNING, "device_worker.cpp:"), 1);
  }
  g_unsetenv ("INTEGRALHIST_FAULT");
  fail_unless_equals_int (count ("default", GST_LEVEL_WARNING), 0);
}

/// The log tells a maintainer what was chosen, what grew and what ended. More frames do not add
/// lines above the level LOG.
TEST (decisions)
{
  const auto run = [] (int frames) {
    start ();
    std::vector<GstBuffer *> held;
    Alone alone ("cudaintegralhist backend=cpu bins=8 tuning-time=0 sync=true", gray ());
    for (int i = 0; i < 3; i++)
      held.push_back (alone.pass (frame ()));
    for (int i = 0; i < frames; i++)
      gst_buffer_unref (alone.pass (frame ()));
    for (GstBuffer *buffer : held)
      gst_buffer_unref (buffer);
    fail_unless (gst_harness_push_event (alone.get (), gst_event_new_flush_start ()));
    fail_unless (gst_harness_push_event (alone.get (), gst_event_new_flush_stop (TRUE)));
    gst_element_set_state (gst_harness_find_element (alone.get (), "cudaintegralhist"),
                           GST_STATE_NULL);
    return count ("integralhist", GST_LEVEL_DEBUG) + count ("cudaintegralhist", GST_LEVEL_DEBUG);
  };
  const long few = run (2);
  for (const auto &[category, text] :
       { std::pair ("integralhist",
                    "64x48 pixels with 8 bins (u32): frames are computed on demand"),
         std::pair ("integralhist", "strategy rows, tile "),
         std::pair ("integralhist", "tensor 4: made"),
         std::pair ("integralhist", "dropping an engine"),
         std::pair ("cudaintegralhist", "a flush starts"),
         std::pair ("cudaintegralhist", "a flush stops") })
    fail_unless_equals_int (count (category, GST_LEVEL_DEBUG, text), 1);
  const long many = run (60);
  // the worker may still have a tensor when the next is taken
  fail_unless (many <= few + 2, "%ld lines instead of %ld", many, few);
}

/// The log says so if a frame waits for a tensor or for a slot, or passes because it is late.
TEST (waits)
{
  start ();
  {
    Alone alone ("cudaintegralhist backend=cpu bins=8 tuning-time=0 max-tensors=1", gray ());
    GstBuffer *const held = alone.pass (frame ());
    std::thread later ([held] {
      while (count ("integralhist", GST_LEVEL_LOG, "all 1 tensors are held") == 0)
        g_usleep (1000);
      gst_buffer_unref (held);
    });
    gst_buffer_unref (alone.pass (frame ()));
    later.join ();
  }
  fail_unless_equals_int (count ("integralhist", GST_LEVEL_DEBUG, "tensors are held"), 0);
  fail_unless (count ("integralhist", GST_LEVEL_LOG, "tensors are held") > 0);

  Alone late ("cudaintegralhist backend=cpu bins=8 tuning-time=0 qos=true", gray ());
  GstBuffer *first = frame ();
  GST_BUFFER_PTS (first) = 0;
  gst_buffer_unref (late.pass (first));
  gst_harness_push_upstream_event (
      late.get (),
      gst_event_new_qos (GST_QOS_TYPE_UNDERFLOW, 1, 500 * GST_MSECOND, GstClockTime (0)));
  GstBuffer *second = frame ();
  GST_BUFFER_PTS (second) = 40 * GST_MSECOND;
  second = late.pass (second);
  fail_unless (!gst_buffer_get_integral_histogram_meta (second));
  gst_buffer_unref (second);
  fail_unless_equals_int (count ("cudaintegralhist", GST_LEVEL_LOG, "frame 1 is late"), 1);
  fail_unless_equals_int (count ("cudaintegralhist", GST_LEVEL_DEBUG, "is late"), 0);
}

/// Numbers of a table that are not a bin are counted once, at the start.
TEST (tables)
{
  const auto lines_of = [] (const char *lut) {
    start ();
    Alone alone (std::string ("cudaintegralhist backend=cpu tuning-time=0 lut=") + lut, gray ());
    for (int i = 0; i < 2; i++)
      gst_buffer_unref (alone.pass (frame ()));
    fail_unless_equals_int (count ("cudaintegralhist", GST_LEVEL_WARNING), 0);
    return count ("cudaintegralhist", GST_LEVEL_INFO,
                  "numbers of the lut that are bins=32 or more, whose values count nowhere: 3");
  };
  fail_unless_equals_int (lines_of ("0,31,32,33,255"), 1);
  fail_unless_equals_int (lines_of ("0,31"), 0);
}
