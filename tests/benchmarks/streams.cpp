// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Measures many streams in one process, with a decoder and a tracker each.
//
//   streams [--source LINE] [--decoder LINE] [--streams N] [--targets N] [--size WxH]
//           [--seconds S] [--backend auto|cpu|cuda] [--live] [--only decoders|trackers]
//
// Each stream is `LINE ! LINE ! cudatrackfeatures ! integralhisttrack`, which plays again and
// again. First the streams run without the last two elements. With --live the compressed frames
// reach a decoder at their time, as from a camera; otherwise streams are as fast as they can be.
// The table has the frames a second of all streams, the processor's time for a frame, and, with
// --live, the delay of a frame: the time from its timestamp to the end of the pipeline. A delay
// that is larger in the last tenth of the time grows.
#include <atomic>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "../support/command_line.hpp"
#include "../support/processor_time.hpp"
#include "launched.hpp"

namespace {

constexpr int kFirst = 10;      // frames of a stream that are not timed
constexpr gulong kPoll = 2000;  // us between two looks at all streams
constexpr gint64 kMostSilence = 30 * G_USEC_PER_SEC;
constexpr double kMostToStart = 60;  // s for the first frames

struct Run {
  std::string source = "videotestsrc ! video/x-raw,width=1920,height=1080,framerate=25/1",
              decoder = "identity", backend = "auto", only;
  int streams = 1, targets = 20, width = 1920, height = 1080;
  double seconds = 10;
  bool live = false;
};

/// A pipeline that begins again at its end, and the delays of its frames.
class Stream {
public:
  Stream (const Run &run, bool tracks, unsigned seed)
      : pipeline_ (launch (
          run.source + (run.live ? " ! clocksync" : "") + " ! " + run.decoder
          + " ! queue max-size-buffers=2 max-size-bytes=0 max-size-time=0 ! "
          + (tracks ? "cudatrackfeatures backend=" + run.backend + " ! integralhisttrack targets=\""
                          + random_boxes (run.targets, run.width, run.height, seed) + "\" ! "
                    : "")
          + "fakesink name=sink sync=false signal-handoffs=true enable-last-sample=false"))
  {
    if (!pipeline_)
      return;
    const auto note = +[] (GstElement *, GstBuffer *buffer, GstPad *pad, gpointer self) {
      static_cast<Stream *> (self)->note (buffer, pad);
    };
    g_signal_connect (child (pipeline_, "sink").get (), "handoff", G_CALLBACK (note), this);
  }
  ~Stream () { stop (); }
  Stream (const Stream &) = delete;

  bool start ()
  {
    if (!pipeline_)
      return false;
    gst_element_set_state (pipeline_.get (), GST_STATE_PLAYING);
    while (frames_ == 0) {  // a demuxer can seek once it has made its pads
      if (has_failed (pipeline_))
        return false;
      g_usleep (kPoll);
    }
    return seek ();
  }
  void stop ()
  {
    if (pipeline_)
      gst_element_set_state (pipeline_.get (), GST_STATE_NULL);
  }
  /// Begins again if the video has ended. Returns false after an error.
  bool poll ()
  {
    const std::unique_ptr<GstBus, Unref> bus (gst_element_get_bus (pipeline_.get ()));
    constexpr auto kKinds = GstMessageType (GST_MESSAGE_ERROR | GST_MESSAGE_SEGMENT_DONE);
    while (GstMessage *const message = gst_bus_pop_filtered (bus.get (), kKinds)) {
      const bool failed = GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR;
      if (failed)
        print_error (message);
      gst_message_unref (message);
      if (failed || !seek ())
        return false;
    }
    const gint64 now = g_get_monotonic_time ();
    if (std::exchange (last_frames_, int (frames_)) != frames_)
      last_time_ = now;
    if (now - last_time_ < kMostSilence)
      return true;
    fprintf (stderr, "streams: a stream has no frames any more\n");
    return false;
  }
  int frames () const { return frames_; }
  /// Returns the seconds of each frame's delay. The stream must have stopped.
  const std::vector<float> &delays () const { return delays_; }

private:
  /// Plays from the beginning, without a flush, so that timestamps go on. At the end of a video
  /// comes a message.
  bool seek ()
  {
    return gst_element_seek (pipeline_.get (), 1, GST_FORMAT_TIME, GST_SEEK_FLAG_SEGMENT,
                             GST_SEEK_TYPE_SET, 0, GST_SEEK_TYPE_NONE, 0);
  }
  void note (GstBuffer *buffer, GstPad *pad)
  {
    g_autoptr (GstEvent) event = gst_pad_get_sticky_event (pad, GST_EVENT_SEGMENT, 0);
    const GstSegment *segment;
    gst_event_parse_segment (event, &segment);
    const GstClockTime due =
        gst_segment_to_running_time (segment, GST_FORMAT_TIME, GST_BUFFER_PTS (buffer));
    const GstClockTime now = gst_element_get_current_running_time (pipeline_.get ());
    delays_.push_back (float (GST_CLOCK_DIFF (due, now)) / GST_SECOND);
    frames_++;
  }

  Element pipeline_;
  int last_frames_ = -1;  // at the last poll
  gint64 last_time_ = 0;  // when last_frames_ changed
  std::vector<float> delays_;
  std::atomic<int> frames_ = 0;
};

using Streams = std::vector<std::unique_ptr<Stream>>;

/// Lets all streams run until `ends` returns true. Returns false after an error.
template <class Ends>
bool play (const Streams &streams, Ends &&ends)
{
  while (!ends ()) {
    for (const auto &stream : streams)
      if (!stream->poll ())
        return false;
    g_usleep (kPoll);
  }
  return true;
}

double seconds_now ()
{
  return double (g_get_monotonic_time ()) / G_USEC_PER_SEC;
}

int frames_of (const Streams &streams)
{
  int frames = 0;
  for (const auto &stream : streams)
    frames += stream->frames ();
  return frames;
}

/// Prints the median, the 99th percentile and the largest of the delays, in milliseconds.
void print_delays (std::vector<float> delays)
{
  if (delays.empty ())
    return;
  std::ranges::sort (delays);
  const auto at = [&] (double share) {
    return double (delays[std::size_t (share * double (delays.size () - 1))]) * 1e3;
  };
  printf ("  %7.1f %7.1f %7.1f", at (0.5), at (0.99), at (1));
}

/// Prints the delays of the timed frames, and those of the last tenth.
void print_delays (const Streams &streams)
{
  std::vector<float> all, last;
  for (const auto &stream : streams) {
    const auto &delays = stream->delays ();
    const auto first = delays.begin () + std::min<std::ptrdiff_t> (kFirst, std::ssize (delays));
    all.insert (all.end (), first, delays.end ());
    last.insert (last.end (), first + (delays.end () - first) * 9 / 10, delays.end ());
  }
  print_delays (all);
  print_delays (last);
}

/// Measures the streams, and prints a row. Returns the frames a second; 0 after an error.
double measure (const Run &run, bool tracks)
{
  Streams streams;
  for (int i = 0; i < run.streams; i++)
    streams.push_back (std::make_unique<Stream> (run, tracks, unsigned (i)));
  for (const auto &stream : streams)
    if (!stream->start ())
      return 0;
  const double begin = seconds_now ();
  const auto have_begun = [&] {
    return std::ranges::all_of (streams,
                                [] (const auto &stream) { return stream->frames () >= kFirst; })
           || seconds_now () - begin > kMostToStart;
  };
  if (!play (streams, have_begun))
    return 0;
  const double start = seconds_now (), busy = processor_seconds ();
  const int frames_before = frames_of (streams);
  if (!play (streams, [&] { return seconds_now () - start >= run.seconds; }))
    return 0;
  const int frames = frames_of (streams) - frames_before;
  const double seconds = seconds_now () - start, used = processor_seconds () - busy;
  for (const auto &stream : streams)
    stream->stop ();
  printf ("%-8s  %9.1f  %10.2f  %5.2f", tracks ? "trackers" : "decoders", frames / seconds,
          used * 1e3 / std::max (1, frames), used / seconds);
  if (run.live)
    print_delays (streams);
  printf ("\n");
  fflush (stdout);
  return frames / seconds;
}

}  // namespace

int main (int argc, char **argv)
{
  gst_init (&argc, &argv);
  Run run;
  command_line::read (
      argc, argv,
      "streams [--source LINE] [--decoder LINE] [--streams N] [--targets N] [--size WxH]\n"
      "        [--seconds S] [--backend auto|cpu|cuda] [--live] [--only decoders|trackers]\n",
      { { "--source", command_line::text (run.source) },
        { "--decoder", command_line::text (run.decoder) },
        { "--streams", command_line::number (run.streams, 1, 256) },
        { "--targets", command_line::number (run.targets, 1, 1000) },
        { "--size", command_line::size (run.width, run.height, 80, 8192) },
        { "--seconds", command_line::number (run.seconds, 0.1) },
        { "--backend", command_line::text (run.backend, { "auto", "cpu", "cuda" }) },
        { "--only", command_line::text (run.only, { "decoders", "trackers" }) } },
      { { "--live", &run.live } });
  printf ("%d streams of %dx%d, %d targets each, backend=%s, %g s\n", run.streams, run.width,
          run.height, run.targets, run.backend.c_str (), run.seconds);
  printf ("elements   frames/s   ms of CPU  cores%s\n",
          run.live ? "  ms of delay: median, 99 %, most; the same of the last tenth" : "");
  double rates[2] = {};
  for (const bool tracks : { false, true })
    if (run.only != (tracks ? "decoders" : "trackers"))
      if ((rates[tracks] = measure (run, tracks)) <= 0)
        return 1;
  if (rates[0] > 0 && rates[1] > 0)
    printf ("share of the decoders' rate: %.2f\n", rates[1] / rates[0]);
  return 0;
}
