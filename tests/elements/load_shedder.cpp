// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The load shedder lets frames of simulated sources pass without a histogram if a stream cannot
// keep up, and never otherwise. load_shedding.cpp has the elements.
#include <gst/elements/producer/load_shedder.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "test.hpp"  // last: it has macros with names of the standard library

using integralhist::LoadShedder;

namespace {

constexpr GstClockTime kFrame = GST_SECOND / 30, kMs = GST_MSECOND, kSecond = GST_SECOND;

/// A frame of a source: its timestamp, and when it is available. Times count from the start.
struct SourceFrame {
  GstClockTime running_time = GST_CLOCK_TIME_NONE, available = 0;
};

/// A live source of a minute or longer. Without `timed` the source does not say how long a frame
/// lasts.
struct Source {
  const char *name;
  std::vector<SourceFrame> frames;
  bool timed = true;
};

/// Makes frame n of a source from a steady camera's, in seconds: its timestamp and its arrival.
using Distortion = std::function<void (int n, double &timestamp, double &available)>;

Source source (const char *name, const Distortion &distort, int n_frames = 1800)
{
  Source made = { name, {} };
  for (int n = 0; n < n_frames; n++) {
    double timestamp = n / 30., available = n / 30.;
    distort (n, timestamp, available);
    const auto time = [] (double seconds) { return GstClockTime (seconds * GST_SECOND + .5); };
    if (available >= 0)
      made.frames.push_back (
          { timestamp < 0 ? GST_CLOCK_TIME_NONE : time (timestamp), time (available) });
  }
  return made;
}

/// Sources such as cameras, networks and relays.
std::vector<Source> sources ()
{
  const auto random = std::make_shared<std::mt19937> (7);
  std::vector<Source> all = {
    source ("steady", [] (int, double &, double &) {}),
    source ("a latency of 3 s", [] (int, double &, double &available) { available += 3; }),
    source ("a step back of 0.3 s", [] (int n, double &t, double &) { t -= n >= 60 ? .3 : 0; }),
    source ("a step back of 1 s", [] (int n, double &t, double &) { t -= n >= 60 ? 1 : 0; }),
    source ("a step back to 0", [] (int n, double &t, double &) { t -= n >= 900 ? 30 : 0; }),
    source ("a step ahead of 1 s", [] (int n, double &t, double &) { t += n >= 60 ? 1 : 0; }),
    source ("a step ahead of an hour",
            [] (int n, double &t, double &) { t += n >= 60 ? 3600 : 0; }),
    source ("steps of 1.5 s to and fro each second",
            [] (int n, double &t, double &) { t += n / 30 % 2 ? 1.5 : 0; }),
    source ("a step back each second", [] (int n, double &t, double &) { t = 10 + n % 30 / 30.; }),
    source ("a network that becomes slower",
            [] (int n, double &, double &available) { available += n >= 60 ? .3 : 0; }),
    source ("a network that becomes quicker",
            [] (int n, double &, double &available) { available += n >= 60 ? 0 : 2; }),
    source ("jitter of 60 ms",
            [random] (int, double &, double &available) { available += (*random) () % 60 / 1e3; }),
    source ("frames in groups of eight",
            [] (int n, double &, double &available) { available = n / 8 * 8 / 30.; }),
    source ("ten seconds at once, on connecting",
            [] (int n, double &, double &available) { available = std::max (0., n / 30. - 10); }),
    source ("stalls of 3 s, whose frames come later",
            [] (int n, double &, double &available) {
              if (n % 450 >= 300 && n % 450 < 390)
                available = (n / 450 * 450 + 390) / 30.;
            }),
    source ("stalls of 3 s, whose frames are lost",
            [] (int n, double &, double &available) {
              if (n % 450 >= 300 && n % 450 < 390)
                available = -1;
            }),
    source ("reconnects, with timestamps from 0",
            [] (int n, double &t, double &available) {
              t = n % 300 / 30.;
              available += n / 300 * 2;
            }),
    source ("a clock 1 % too fast", [] (int, double &t, double &) { t *= 1.01; }),
    source ("a clock 1 % too slow", [] (int, double &t, double &) { t *= .99; }),
    source ("pairs of one timestamp", [] (int n, double &t, double &) { t = n / 2 * 2 / 30.; }),
    source ("fours of one timestamp", [] (int n, double &t, double &) { t = n / 4 * 4 / 30.; }),
    source ("one timestamp for all", [] (int, double &t, double &) { t = 5; }),
    source ("no timestamps", [] (int, double &t, double &) { t = -1; }),
    source ("timestamps of 10 s later", [] (int, double &t, double &) { t += 10; }),
    source ("five frames a second at night",
            [] (int n, double &, double &available) {
              if (n / 600 == 1 && n % 6 != 0)
                available = -1;
            }),
  };
  // Without durations only the timestamps tell the intervals.
  const std::size_t n = all.size ();
  for (std::size_t i = 0; i < n; i++) {
    Source same = all[i];
    same.timed = false;
    all.push_back (same);
  }
  return all;
}

/// One thread that takes each frame from a source as soon as it can, and computes it or not.
struct Simulation {
  GstClockTime work;          // of a frame with a histogram
  GstClockTime upstream = 0;  // work on each frame before the element
  GstClockTime behind = 0;    // and behind it
  bool live = true, sheds = true;
  guint slow_frame = G_MAXUINT;  // takes `once`
  GstClockTime once = 0;

  guint computed = 0, frames = 0;
  GstClockTime most_delay = 0, longest_without = 0, end = 0;

  Simulation &run (LoadShedder &shedder, const Source &source)
  {
    GstClockTime last = 0;
    LoadShedder::Moment now = { GST_SECOND, 0, GST_SECOND };  // of the thread
    const auto spend = [&now] (GstClockTime time) {
      now.wall += time;
      now.cpu += time;
      now.clock += time;
    };
    for (const SourceFrame &frame : source.frames) {
      now.wall = std::max (now.wall, GST_SECOND + frame.available);
      now.clock = now.wall;
      spend (upstream);
      const GstClockTime arrival = now.wall - GST_SECOND;
      most_delay = std::max (most_delay, arrival - frame.available);
      const bool is_slow = frames++ == slow_frame;
      LoadShedder::Arrival arriving;
      arriving.running_time = frame.running_time;
      arriving.duration = source.timed ? kFrame : GST_CLOCK_TIME_NONE;
      if (GST_CLOCK_TIME_IS_VALID (frame.running_time))
        arriving.slack = GST_CLOCK_DIFF (arrival, frame.running_time);
      arriving.live = live;
      shedder.note_arrival (arriving, now);
      if (!sheds || !shedder.decide_to_shed ()) {
        computed++;
        longest_without = std::max (longest_without, arrival - last);
        last = arrival;
        spend (is_slow ? once : work);
      }
      spend (behind);
      shedder.note_departure (now);
    }
    end = now.wall - GST_SECOND;
    return *this;
  }
};

int ms_of (GstClockTime time)
{
  return int (time / GST_MSECOND);
}

/// Tells whether the frames of a source show how long they last.
bool tells_intervals (const Source &source)
{
  if (source.timed)
    return true;
  const auto &frames = source.frames;
  return frames.front ().running_time != frames.back ().running_time;
}

}  // namespace

/// A stream that keeps up loses nothing, whatever its source does. If only upstream cannot keep up,
/// nothing is lost once that shows, as frames without a histogram would not help.
TEST (sources_that_are_kept_up_with)
{
  for (const Source &source : sources ())
    for (const GstClockTime upstream : { 0 * kMs, 10 * kMs, 40 * kMs })
      for (const GstClockTime work : { 0 * kMs, 2 * kMs, 15 * kMs, kFrame * 19 / 20 }) {
        if (upstream < kFrame && upstream + work > kFrame * 19 / 20)
          continue;
        LoadShedder shedder;
        const auto quick = Simulation{ work, upstream }.run (shedder, source);
        // It takes some frames to see that upstream cannot keep up by itself.
        const guint lost = upstream > kFrame ? quick.frames / 10 : 0;
        fail_unless (quick.computed >= quick.frames - lost,
                     "%s%s, %d + %d ms a frame: %u of %u computed", source.name,
                     source.timed ? "" : ", no durations", ms_of (upstream), ms_of (work),
                     quick.computed, quick.frames);
      }
}

/// A stream that cannot keep up loses no more frames than it must, and its delay is at most what a
/// stream that just keeps up has with this source, 250 ms, and two frames' work: timestamps that
/// step ahead may ask for this second's frame right after the last.
TEST (sources_that_are_too_fast)
{
  for (const Source &source : sources ())
    for (const GstClockTime upstream : { 0 * kMs, 20 * kMs })
      for (const int ms : { 40, 60, 100, 200, 350, 500, 900 }) {
        const GstClockTime work = GstClockTime (ms) * GST_MSECOND;
        LoadShedder shedder, unused;
        const auto slow = Simulation{ work, upstream }.run (shedder, source);
        if (!tells_intervals (source)) {
          fail_unless_equals_int (slow.computed, slow.frames);
          continue;
        }
        const auto most =
            Simulation{ kFrame - upstream, upstream, true, false }.run (unused, source).most_delay;
        const std::string what = std::string (source.name) + (source.timed ? "" : ", no durations")
                                 + ", " + std::to_string (ms_of (upstream)) + " + "
                                 + std::to_string (ms) + " ms a frame";
        fail_unless (slow.most_delay <= most + (source.timed ? 2 : 5) * work + 250 * kMs,
                     "%s: a delay of %d ms, not %d", what.c_str (), ms_of (slow.most_delay),
                     ms_of (most));
        const double can = double (slow.frames) * double (kFrame - upstream) / double (work);
        fail_unless (slow.computed >= can - .05 * slow.frames - 2,
                     "%s: %u of %u computed, %.0f can be", what.c_str (), slow.computed,
                     slow.frames, can);
      }
}

/// If only the elements behind cannot keep up, few frames are shed, as that does not help.
TEST (behind_alone_is_too_slow)
{
  for (const Source &source : sources ())
    if (tells_intervals (source))
      for (const GstClockTime behind : { 50 * kMs, 120 * kMs }) {
        LoadShedder shedder;
        Simulation slow = { 2 * kMs };
        slow.behind = behind;
        slow.run (shedder, source);
        fail_unless (slow.computed > slow.frames / 2, "%s%s, %d ms behind: %u of %u computed",
                     source.name, source.timed ? "" : ", no durations", ms_of (behind),
                     slow.computed, slow.frames);
      }
}

/// One slow frame costs the frames of that time and no others.
TEST (one_slow_frame)
{
  for (const Source &source : sources ()) {
    if (!tells_intervals (source))
      continue;
    for (const guint slow_frame : { 0u, 90u, 700u })
      for (const GstClockTime once : { 300 * kMs, 2 * kSecond }) {
        LoadShedder shedder;
        Simulation stream = { 2 * GST_MSECOND };
        stream.slow_frame = slow_frame;
        stream.once = once;
        stream.run (shedder, source);
        const guint lost = stream.frames - stream.computed;
        fail_unless (lost <= once / kFrame + slow_frame / 20 + 2,
                     "%s%s, %d ms for frame %u: %u frames lost", source.name,
                     source.timed ? "" : ", no durations", ms_of (once), slow_frame, lost);
      }
  }
}

/// A source that is not live waits, and so nothing is lost.
TEST (files)
{
  for (const Source &source : sources ()) {
    LoadShedder shedder;
    Simulation file = { 100 * GST_MSECOND };
    file.live = false;
    file.run (shedder, source);
    fail_unless_equals_int (file.computed, file.frames);
  }
}

/// A frame takes longer than a second: one frame is computed now and then.
TEST (seconds_for_a_frame)
{
  for (const GstClockTime work : { 2 * kSecond, 7 * kSecond }) {
    LoadShedder shedder;
    const auto steady = source (
        "steady", [] (int, double &, double &) {}, 18000);
    const auto slow = Simulation{ work }.run (shedder, steady);
    fail_unless (slow.most_delay <= 2 * work, "%d s a frame: a delay of %d ms",
                 int (work / GST_SECOND), ms_of (slow.most_delay));
    fail_unless (slow.longest_without <= 3 * work && slow.computed * work > 200 * GST_SECOND);
  }
}

namespace {

/// A shedder whose frames come one behind the other.
struct Frames {
  LoadShedder shedder;
  LoadShedder::Moment now = { GST_SECOND, 0, GST_SECOND };
  bool live = true, stands_still = false;  // the pipeline's clock
  GstClockTime latency = 0;

  bool sheds (GstClockTime running_time, std::optional<GstClockTimeDiff> early,
              GstClockTime in_chain)
  {
    LoadShedder::Arrival arrival;
    arrival.running_time = running_time;
    arrival.duration = kFrame;
    arrival.slack = early;
    arrival.latency = latency;
    arrival.live = live;
    now.clock = stands_still ? GST_SECOND : now.wall;
    shedder.note_arrival (arrival, now);
    const bool shed = shedder.decide_to_shed ();
    now.wall += in_chain;
    now.clock = stands_still ? GST_SECOND : now.wall;
    shedder.note_departure (now);
    return shed;
  }
};

}  // namespace

/// A sink that waits for the clock is not a load, either in the same thread or behind a full queue.
TEST (sinks_that_wait)
{
  for (const GstClockTime latency : { 0 * kMs, 200 * kMs, 3 * kSecond }) {
    Frames frames;
    frames.latency = latency;
    // Frame n is shown at latency + n frames, and leaves then; the next one has arrived already.
    for (int n = 0; n < 300; n++) {
      const GstClockTime start = frames.now.wall - GST_SECOND, shown = latency + n * kFrame;
      fail_unless (!frames.sheds (n * kFrame, GST_CLOCK_DIFF (start, shown),
                                  std::max (shown, start + GST_MSECOND) - start));
    }
  }
  // The queue holds a second; its first frame is shown after three.
  Frames frames;
  frames.latency = 3 * GST_SECOND;
  for (int n = 0; n < 300; n++) {
    const GstClockTime start = frames.now.wall - GST_SECOND,
                       room = n < 30 ? start : frames.latency + (n - 30) * kFrame;
    fail_unless (!frames.sheds (n * kFrame, GST_CLOCK_DIFF (start, n * kFrame + frames.latency),
                                std::max (room, start + GST_MSECOND) - start),
                 "frame %d", n);
  }
}

/// A stream whose clock stands still, as a test's, is not late, however long its frames take.
TEST (clock_that_stands_still)
{
  for (const bool stands_still : { false, true }) {
    Frames frames;
    frames.stands_still = stands_still;
    guint shed = 0;
    for (int n = 0; n < 300; n++)
      shed += frames.sheds (n * kFrame, std::nullopt, 10 * kFrame);
    fail_unless ((shed > 0) == !stands_still);
  }
}

/// A clock that jumps ahead and back stands still for as long, and the load still counts.
TEST (clock_that_jumps_back)
{
  Frames frames;
  for (int n = 0; n < 120; n++)
    fail_unless (!frames.sheds (n * kFrame, std::nullopt, kFrame));
  frames.stands_still = true;
  guint shed = 0;
  for (int n = 120; n < 150; n++)
    shed += frames.sheds (n * kFrame, std::nullopt, 10 * kFrame);
  fail_unless (shed > 15, "%u of 30 frames", shed);
}

/// The time of a frame that is ignored does not shed the next frame.
TEST (ignored_service)
{
  for (const bool ignored : { false, true }) {
    Frames frames;
    guint shed = 0;
    for (int n = 0; n < 60; n++) {
      LoadShedder::Arrival arrival;
      arrival.running_time = n * kFrame;
      arrival.duration = kFrame;
      arrival.live = true;
      frames.shedder.note_arrival (arrival, frames.now);
      shed += frames.shedder.decide_to_shed ();
      if (n == 30 && ignored)
        frames.shedder.ignore_service ();
      frames.now.wall += n == 30 ? kSecond : kMs;
      frames.now.clock = frames.now.wall;
      frames.shedder.note_departure (frames.now);
    }
    fail_unless ((shed > 0) == !ignored);
  }
}

/// A sink's reports count without the lateness that frames of a live source arrived with.
TEST (late_on_arrival)
{
  for (const bool live : { true, false }) {
    Frames frames;
    frames.live = live;
    const auto sheds = [&] (int n) {
      frames.now.wall += kFrame - GST_MSECOND;
      return frames.sheds (n * kFrame, -GstClockTimeDiff (GST_SECOND), GST_MSECOND);
    };
    for (int n = 0; n < 60; n++) {
      // shown too late by a second and a millisecond, as it arrived too late by a second
      fail_unless (sheds (n) == (!live && n > 0 && n != 31), "frame %d", n);
      frames.shedder.note_qos (n * kFrame, GST_SECOND + GST_MSECOND);
    }
    // of these 300 ms are the element's
    frames.shedder.note_qos (59 * kFrame, GST_SECOND + 300 * GST_MSECOND);
    if (live)
      fail_unless (sheds (61) && sheds (67) && !sheds (69));
  }
}

/// The QoS of a sink says up to which time frames are too late.
TEST (said_by_a_sink)
{
  for (const bool live : { false, true }) {
    Frames frames;
    frames.live = live;
    LoadShedder &shedder = frames.shedder;
    const auto sheds = [&] (int ms) {
      frames.now.wall = kSecond + ms * kMs;
      return frames.sheds (ms * kMs, std::nullopt, 0);
    };
    fail_unless (!sheds (0) && !sheds (100));
    shedder.note_qos (100 * GST_MSECOND, 300 * GST_MSECOND);
    fail_unless (sheds (200) && sheds (399) && !sheds (401) && !sheds (500));
    shedder.note_qos (500 * GST_MSECOND, -200 * GST_MSECOND);  // early
    fail_unless (!sheds (533) && !sheds (600));
    shedder.note_qos (600 * GST_MSECOND, 10 * GST_SECOND);
    fail_unless (sheds (700) && sheds (1599) && !sheds (1600) && sheds (1700) && sheds (2599)
                 && !sheds (2700));
    shedder.note_qos (GST_CLOCK_TIME_NONE, 0);
    fail_unless (!sheds (2733));
    shedder.note_qos (3000 * GST_MSECOND, 10 * GST_SECOND);
    fail_unless (sheds (3001));
    shedder.reset ();
    fail_unless (!sheds (3034) && !sheds (3067));
    shedder.note_qos (1 * GST_SECOND, -5 * GST_SECOND);  // before the beginning
    fail_unless (!sheds (3100));
    // numbers at the end of their range
    shedder.note_qos (GST_CLOCK_TIME_NONE - 1, G_MAXINT64);
    shedder.note_qos (0, G_MININT64);
    fail_unless (!sheds (3133));
  }
}
