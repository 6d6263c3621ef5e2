// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Times a batch in the library for nvtracker.
//
//   nvtracker [--streams N]... [--targets N]... [--frames N] [--size WxH] [--every N] [--gpu]
//
// Each stream has moving targets, and a detector that looks at every n-th frame. Frames are the
// tracker's, 960x544 by default. Times are of the call of NvMOT_Process.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "../nvmot/scene.hpp"
#include "../support/command_line.hpp"

using namespace nvtracker;

namespace {

struct Run {
  int streams, targets, frames, every, width, height;
  bool on_gpu;
};

/// Returns the times of all batches but the first ones, in milliseconds; nothing after a complaint.
std::vector<double> measure (const Run &run)
{
  constexpr int kFirst = 5;
  const OptionsFile options (std::string ("[integralhisttrack]\nmax-targets=1000\nbackend=")
                             + (run.on_gpu ? "cuda\n" : "cpu\n"));
  Nvtracker library ({ .max_streams = run.streams,
                       .width = run.width,
                       .height = run.height,
                       .path = options.path,
                       .on_gpu = run.on_gpu });
  std::vector<MovingScene> scenes;
  for (int s = 0; s < run.streams; s++)
    scenes.emplace_back (run.width, run.height, run.targets, 1 + 1000 * unsigned (s));
  std::mt19937 random (1);
  std::vector<double> times;
  for (int f = 0; f < kFirst + run.frames; f++) {
    std::vector<Nv12Picture> pictures;
    for (const MovingScene &scene : scenes)
      pictures.push_back (scene.picture (f));
    std::vector<FrameIn> frames;
    for (int s = 0; s < run.streams; s++)
      frames.push_back ({ guint64 (s), guint32 (f), &pictures[std::size_t (s)],
                          scenes[std::size_t (s)].detections (f, run.every, random),
                          GstClockTime (f) * GST_SECOND / 30 });
    library.process (frames);
    if (f >= kFirst)
      times.push_back (library.process_seconds () * 1e3);
  }
  if (!library.complaint ().empty ()) {
    fprintf (stderr, "nvtracker: %s\n", library.complaint ().c_str ());
    return {};
  }
  std::ranges::sort (times);
  return times;
}

}  // namespace

int main (int argc, char **argv)
{
  gst_init (&argc, &argv);
  std::vector<int> streams, targets;
  Run run = { 1, 1, 60, 1, 960, 544, false };
  command_line::read (
      argc, argv,
      "nvtracker [--streams N]... [--targets N]... [--frames N] [--size WxH] [--every N] [--gpu]\n",
      { { "--streams", command_line::numbers (streams, 1, 64) },
        { "--targets", command_line::numbers (targets, 1, 1000) },
        { "--frames", command_line::number (run.frames, 1) },
        { "--size", command_line::size (run.width, run.height, 16, 8192) },
        { "--every", command_line::number (run.every, 1) } },
      { { "--gpu", &run.on_gpu } });
  if (streams.empty ())
    streams = { 1, 8 };
  if (targets.empty ())
    targets = { 10, 100 };
  printf ("streams  targets  median, ms  95 %%, ms a batch  batches a second\n");
  for (const int s : streams)
    for (const int t : targets) {
      run.streams = s, run.targets = t;
      const auto times = measure (run);
      if (times.empty ())
        return 1;
      const double sum = std::accumulate (times.begin (), times.end (), 0.0);
      printf ("%7d  %7d  %10.2f  %17.2f  %16.0f\n", s, t, times[times.size () / 2],
              times[times.size () * 95 / 100], 1e3 * double (times.size ()) / sum);
    }
  return 0;
}
