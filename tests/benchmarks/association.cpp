// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Times what a frame's detections cost the tracker: their appearances, their pairs with targets,
// births and deaths. Nothing is followed.
//
//   association [--targets N]... [--frames N] [--feature NAME]
//
// Each target is detected in each frame, moved by a pixel or two. In a spread scene boxes lie side
// by side; in a crowd each overlaps its eight neighbours. Times are medians of one thread's
// processor time: of all that the tracker does, and of the part that counts the pixels of the
// boxes.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gst/app/gstappsink.h>
#include <tbb/global_control.h>

#include <gst/track/association/appearance.hpp>
#include <gst/track/target_list.hpp>

#include "../support/command_line.hpp"
#include "launched.hpp"

using namespace integralhist;

namespace {

constexpr int kWidth = 1920, kHeight = 1080;

double processor_seconds ()
{
  timespec time;
  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &time);
  return double (time.tv_sec) + double (time.tv_nsec) * 1e-9;
}

/// A pipeline of frames of noise, each with a new tensor of colours; null after an error.
Element launch_noise (const std::string &feature)
{
  return launch (
      "videotestsrc pattern=snow num-buffers=1 ! video/x-raw,format=I420,framerate=25/1,width="
      + std::to_string (kWidth) + ",height=" + std::to_string (kHeight)
      + " ! imagefreeze ! cudaintegralhist backend=cpu compute=on-demand feature=" + feature
      + " ! appsink name=sink sync=false max-buffers=1");
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

struct Times {
  double counting, all;  // milliseconds of a frame
};

double median (std::vector<double> values)
{
  const auto middle = values.begin () + std::ptrdiff_t (values.size () / 2);
  std::ranges::nth_element (values, middle);
  return *middle;
}

/// Returns the times, or nothing after an error.
std::optional<Times> measure (GstAppSink *sink, int targets, bool crowd, int frames)
{
  TargetList list (nullptr, [] (const TrackWarning &) {});
  std::mt19937 random (1);
  std::vector<double> counting, all;
  for (int i = 0; i < frames; i++) {
    const Sample sample (gst_app_sink_pull_sample (sink)),
        counted (gst_app_sink_pull_sample (sink));
    if (!sample || !counted)
      return {};
    GstBuffer *const buffer = gst_sample_get_buffer (sample.get ());
    const TargetFrame frame (buffer, gst_buffer_get_integral_histogram_meta (buffer));
    std::vector<Detection> detections;
    for (int target = 0; target < targets; target++)
      detections.push_back ({ target, box_of (target, targets, crowd, random), "person", 0.9 });
    list.fit (frame.histogram, frame);
    double start = processor_seconds ();
    if (!list.detect (detections, frame.histogram, frame))
      return {};
    all.push_back ((processor_seconds () - start) * 1e3);

    std::vector<TargetBox> boxes;
    for (const Detection &detection : detections)
      boxes.push_back (frame.in_tensor (detection.box));
    GstBuffer *const its = gst_sample_get_buffer (counted.get ());
    const TargetFrame other (its, gst_buffer_get_integral_histogram_meta (its));
    start = processor_seconds ();
    if (!appearances_of (other.histogram, boxes))
      return {};
    counting.push_back ((processor_seconds () - start) * 1e3);
  }
  return Times{ median (counting), median (all) };
}

/// Returns false after an error.
bool print_rows (const Element &pipeline, const std::vector<int> &targets, int frames)
{
  const Element sink = child (pipeline, "sink");
  printf ("targets  scene   counting, ms  all, ms a frame\n");
  for (const int n : targets)
    for (const bool crowd : { false, true }) {
      const auto times = measure (GST_APP_SINK (sink.get ()), n, crowd, frames);
      if (!times)
        return false;
      printf ("%7d  %-6s  %12.3f  %15.3f\n", n, crowd ? "crowd" : "spread", times->counting,
              times->all);
    }
  return true;
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
  const Element pipeline = launch_noise (feature);
  if (!pipeline)
    return 1;
  gst_element_set_state (pipeline.get (), GST_STATE_PLAYING);
  const bool good = print_rows (pipeline, targets, frames);
  if (!good && !has_failed (pipeline))
    fprintf (stderr, "association: a frame failed\n");
  gst_element_set_state (pipeline.get (), GST_STATE_NULL);
  return good ? 0 : 1;
}
