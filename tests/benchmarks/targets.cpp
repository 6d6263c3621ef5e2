// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Measures how many frames a second integralhisttrack follows with many targets.
//
//   targets [--file VIDEO] [--targets N]... [--size WxH] [--streams N]... [--frames N]
//           [--backend auto|cpu|cuda] [--memory system|cuda] [--lost-after N] [--queue]
//
// The video, or a moving pattern, is decoded and scaled before. It plays to and fro, through
// `cudatrackfeatures ! integralhisttrack`, in one pipeline for each stream; with --queue there is a
// queue between both. Targets of 24x48 to 60x80 pixels lie anywhere in the first frame. Times are
// from the tenth frame on. The table also shows the processor's time for a frame, how many targets
// are lost in the end, and a hash of the last tracks of the first stream, which does not depend on
// the backend.
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/integralhist/gstintegralhist.h>
#include <gst/video/video.h>

#include "../support/command_line.hpp"
#include "../support/processor_time.hpp"
#include "launched.hpp"

namespace {

constexpr int kFirst = 10;  // frames that are not timed

struct Run {
  std::string file, backend = "auto", memory = "system";
  int width = 1920, height = 1080, frames = 100, targets = 1, streams = 1, lost_after = 5;
  bool queue = false;
};

/// Returns the first frames of the video; none after an error.
std::vector<Sample> read_video (const Run &run)
{
  const std::string upload = run.memory == "cuda" ? "cudaupload ! " : "";
  const std::string source = run.file.empty () ? "videotestsrc pattern=zone-plate kx2=9 ky2=9 kt=2"
                                               : "filesrc name=file ! decodebin";
  const Element pipeline =
      launch (source
              + " ! videoconvert ! videoscale ! "
                "video/x-raw,format=I420,pixel-aspect-ratio=1/1,width="
              + std::to_string (run.width) + ",height=" + std::to_string (run.height) + " ! "
              + upload + "appsink name=sink sync=false max-buffers=4");
  std::vector<Sample> frames;
  if (!pipeline)
    return frames;
  if (!run.file.empty ())
    g_object_set (child (pipeline, "file").get (), "location", run.file.c_str (), nullptr);
  const Element sink = child (pipeline, "sink");
  gst_element_set_state (pipeline.get (), GST_STATE_PLAYING);
  while (int (frames.size ()) < run.frames)
    if (Sample frame (gst_app_sink_pull_sample (GST_APP_SINK (sink.get ()))); frame)
      frames.push_back (std::move (frame));
    else
      break;
  if (has_failed (pipeline))
    frames.clear ();
  gst_element_set_state (pipeline.get (), GST_STATE_NULL);
  return frames;
}

/// A pipeline, and what has come out of it.
class Stream {
public:
  Stream (const Run &run, unsigned seed)
      : pipeline_ (
          launch ("appsrc name=source block=true format=time max-buffers=2 max-bytes=0 ! "
                  "cudatrackfeatures backend="
                  + run.backend + (run.queue ? " ! queue max-size-buffers=3 max-size-bytes=0" : "")
                  + " ! integralhisttrack name=track lost-after=" + std::to_string (run.lost_after)
                  + " targets=\"" + random_boxes (run.targets, run.width, run.height, seed)
                  + "\" ! fakesink name=sink sync=false signal-handoffs=true"))
  {
    if (!pipeline_)
      return;
    source_ = child (pipeline_, "source");
    const auto note = +[] (GstElement *, GstBuffer *buffer, GstPad *, gpointer self) {
      static_cast<Stream *> (self)->note (buffer);
    };
    g_signal_connect (child (pipeline_, "sink").get (), "handoff", G_CALLBACK (note), this);
  }
  ~Stream ()
  {
    if (pipeline_)
      gst_element_set_state (pipeline_.get (), GST_STATE_NULL);
    gst_clear_buffer (&last_);
  }
  Stream (const Stream &) = delete;

  bool start (GstCaps *caps)
  {
    if (!pipeline_)
      return false;
    g_object_set (source_.get (), "caps", caps, nullptr);
    gst_element_set_state (pipeline_.get (), GST_STATE_PLAYING);
    return true;
  }
  void push (GstSample *frame, int number)
  {
    GstBuffer *const buffer = gst_buffer_copy (gst_sample_get_buffer (frame));
    GST_BUFFER_PTS (buffer) = GstClockTime (number) * GST_SECOND / 25;
    gst_app_src_push_buffer (GST_APP_SRC (source_.get ()), buffer);
  }
  /// Returns whether so many frames have come out; false after an error.
  bool wait (int frames)
  {
    while (frames_ < frames)
      if (has_failed (pipeline_))
        return false;
      else
        g_usleep (200);
    return true;
  }
  /// Return how many targets are lost in the last frame, and a hash of its tracks.
  int lost () const
  {
    int n = 0;
    for_tracks ([&] (const GstStructure *track) {
      gboolean lost = FALSE;
      n += gst_structure_get_boolean (track, "lost", &lost) && lost;
    });
    return n;
  }
  guint64 hash () const
  {
    guint64 hash = 0xcbf29ce484222325;
    for_tracks ([&] (const GstStructure *track) {
      g_autofree char *text = gst_structure_to_string (track);
      for (const char *c = text; *c; c++)
        hash = (hash ^ guint64 (*c)) * 0x100000001b3;
    });
    return hash;
  }

private:
  /// Keeps the last frame.
  void note (GstBuffer *buffer)
  {
    gst_buffer_replace (&last_, buffer);
    frames_++;
  }

  template <class See>
  void for_tracks (See &&see) const
  {
    auto *const meta = last_ ? gst_buffer_get_integral_histogram_tracks_meta (last_) : nullptr;
    const guint n = meta ? gst_integral_histogram_tracks_meta_get_n_tracks (meta) : 0;
    for (guint i = 0; i < n; i++) {
      g_autoptr (GstStructure) track = gst_integral_histogram_tracks_meta_get_track (meta, i);
      see (track);
    }
  }

  Element pipeline_, source_;
  std::atomic<int> frames_ = 0;
  GstBuffer *last_ = nullptr;
};

/// Measures, and prints a line. Returns false after an error.
bool measure (const Run &run, const std::vector<Sample> &video)
{
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < run.streams; i++) {
    streams.push_back (std::make_unique<Stream> (run, unsigned (i)));
    if (!streams.back ()->start (gst_sample_get_caps (video.front ().get ())))
      return false;
  }
  const auto play = [&] (int from, int to) {
    const int n = int (video.size ()), period = std::max (1, 2 * n - 2);
    for (int i = from; i < to; i++) {
      const int at = i % period;
      for (const auto &stream : streams)
        stream->push (video[std::size_t (at < n ? at : period - at)].get (), i);
    }
    for (const auto &stream : streams)
      if (!stream->wait (to))
        return false;
    return true;
  };
  if (!play (0, kFirst))
    return false;
  const gint64 start = g_get_monotonic_time ();
  const double busy = processor_seconds ();
  if (!play (kFirst, kFirst + run.frames))
    return false;
  const double seconds = double (g_get_monotonic_time () - start) / 1e6,
               frames = double (run.frames) * run.streams;
  int lost = 0;
  for (const auto &stream : streams)
    lost += stream->lost ();
  printf ("%7d  %7d  %9.1f  %10.2f  %5d  %016" G_GINT64_MODIFIER "x\n", run.streams, run.targets,
          frames / seconds, (processor_seconds () - busy) * 1e3 / frames, lost,
          streams.front ()->hash ());
  fflush (stdout);
  return true;
}

}  // namespace

int main (int argc, char **argv)
{
  gst_init (&argc, &argv);
  Run run;
  std::vector<int> targets, streams;
  command_line::read (
      argc, argv,
      "targets [--file VIDEO] [--targets N]... [--size WxH] [--streams N]... [--frames N]\n"
      "        [--backend auto|cpu|cuda] [--memory system|cuda] [--lost-after N] [--queue]\n",
      { { "--file", command_line::text (run.file) },
        { "--targets", command_line::numbers (targets, 1, 10000) },
        { "--size", command_line::size (run.width, run.height, 80, 8192) },
        { "--streams", command_line::numbers (streams, 1, 256) },
        { "--frames", command_line::number (run.frames, 1) },
        { "--backend", command_line::text (run.backend, { "auto", "cpu", "cuda" }) },
        { "--memory", command_line::text (run.memory, { "system", "cuda" }) },
        { "--lost-after", command_line::number (run.lost_after, 0, 1000) } },
      { { "--queue", &run.queue } });
  if (targets.empty ())
    targets = { 1, 100, 1000 };
  if (streams.empty ())
    streams = { 1 };
  const std::vector<Sample> video = read_video (run);
  if (video.empty ()) {
    fprintf (stderr, "targets: no frames in the video\n");
    return 1;
  }
  printf ("%dx%d, backend=%s, %zu frames in %s memory\n"
          "streams  targets  frames/s   ms of CPU   lost  tracks\n",
          run.width, run.height, run.backend.c_str (), video.size (), run.memory.c_str ());
  for (const int s : streams)
    for (const int t : targets) {
      run.streams = s, run.targets = t;
      if (!measure (run, video))
        return 1;
    }
  return 0;
}
