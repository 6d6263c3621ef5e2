// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a frame's detections cost the tracker: their appearances, their pairs with targets, births
// and deaths. Nothing is followed.
//
//   association [--targets N]... [--frames N] [--feature NAME]
//
// Each target is detected in each frame, moved by a pixel or two. In a spread scene boxes lie side
// by side; in a crowd each overlaps its eight neighbours. Times are medians of one thread's
// processor time. All rounds ask one frame: after some 50 of them its whole tensor is computed,
// which no stream does that asks each frame once. So keep --frames below that.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include <gst/gst.h>
#include <tbb/global_control.h>

#include <gst/track/target_list.hpp>

#include "../support/command_line.hpp"

using namespace integralhist;

namespace {

constexpr int kWidth = 1920, kHeight = 1080;

double processor_seconds ()
{
  timespec time;
  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &time);
  return double (time.tv_sec) + double (time.tv_nsec) * 1e-9;
}

/// Returns a frame of noise with its tensor of colours.
GstBuffer *make_frame (const std::string &feature)
{
  g_autofree char *line = g_strdup_printf (
      "videotestsrc pattern=snow num-buffers=1 ! video/x-raw,format=I420,width=%d,height=%d ! "
      "cudaintegralhist backend=cpu compute=on-demand feature=%s ! fakesink name=sink "
      "enable-last-sample=true sync=false",
      kWidth, kHeight, feature.c_str ());
  g_autoptr (GError) error = nullptr;
  g_autoptr (GstElement) pipeline = gst_parse_launch (line, &error);
  if (!pipeline) {
    fprintf (stderr, "association: %s\n", error->message);
    return nullptr;
  }
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  g_autoptr (GstMessage) end = gst_bus_timed_pop_filtered (
      bus, 60 * GST_SECOND, GstMessageType (GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  g_autoptr (GstElement) sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  g_autoptr (GstSample) sample = nullptr;
  g_object_get (sink, "last-sample", &sample, nullptr);
  GstBuffer *const buffer = sample ? gst_buffer_ref (gst_sample_get_buffer (sample)) : nullptr;
  gst_element_set_state (pipeline, GST_STATE_NULL);
  if (!buffer)
    fprintf (stderr, "association: no frame with feature=%s\n", feature.c_str ());
  return buffer;
}

/// Returns the box of a target: in a spread scene a grid over the frame, in a crowd a narrow one.
GstVideoRectangle box_of (int target, int targets, bool crowd, std::mt19937 &random)
{
  const int columns = int (std::ceil (std::sqrt (targets * 2.0))), rows = targets / columns + 1;
  const int width = kWidth / columns, height = kHeight / rows;
  const int x = target % columns * width, y = target / columns * height;
  const auto moved = [&] (int at) { return std::max (0, at + int (random () % 5) - 2); };
  return crowd ? GstVideoRectangle{ moved (x / 2), moved (y / 2), width, height }
               : GstVideoRectangle{ moved (x), moved (y), width - 4, height - 4 };
}

double milliseconds_of_frame (GstBuffer *buffer, int targets, bool crowd, int frames)
{
  TargetList list (nullptr, [] (const TrackWarning &) {});
  std::mt19937 random (1);
  std::vector<double> times;
  for (int i = 0; i < frames; i++) {
    GST_BUFFER_PTS (buffer) = GstClockTime (i) * 40 * GST_MSECOND;
    const TargetFrame frame (buffer, gst_buffer_get_integral_histogram_meta (buffer));
    std::vector<Detection> detections;
    for (int target = 0; target < targets; target++)
      detections.push_back ({ target, box_of (target, targets, crowd, random), "person", 0.9 });
    list.fit (frame.histogram, frame);
    const double start = processor_seconds ();
    if (!list.detect (detections, frame.histogram, frame))
      return NAN;
    times.push_back ((processor_seconds () - start) * 1e3);
  }
  std::ranges::nth_element (times, times.begin () + frames / 2);
  return times[std::size_t (frames / 2)];
}

}  // namespace

int main (int argc, char **argv)
{
  gst_init (&argc, &argv);
  std::vector<int> targets;
  int frames = 50;
  std::string feature = "hsv";
  command_line::read (argc, argv, "association [--targets N]... [--frames N] [--feature NAME]\n",
                      { { "--targets", command_line::numbers (targets, 1, 1000) },
                        { "--frames", command_line::number (frames, 1) },
                        { "--feature", command_line::text (feature) } });
  if (targets.empty ())
    targets = { 100, 500 };
  tbb::global_control alone (tbb::global_control::max_allowed_parallelism, 1);
  g_autoptr (GstBuffer) buffer = make_frame (feature);
  if (!buffer)
    return 1;
  buffer = gst_buffer_make_writable (buffer);
  printf ("targets  scene    ms a frame\n");
  for (const int n : targets)
    for (const bool crowd : { false, true }) {
      const double ms = milliseconds_of_frame (buffer, n, crowd, frames);
      if (std::isnan (ms)) {
        fprintf (stderr, "association: a frame failed\n");
        return 1;
      }
      printf ("%7d  %-7s  %10.3f\n", n, crowd ? "crowd" : "spread", ms);
    }
  return 0;
}
