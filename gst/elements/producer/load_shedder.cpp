// SPDX-License-Identifier: LGPL-2.1-or-later
#include "load_shedder.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <utility>

namespace integralhist {

namespace {

constexpr GstClockTime kMinAllowance = 100 * GST_MSECOND;      // backlog that sheds nothing
constexpr GstClockTimeDiff kClockTolerance = 2 * GST_MSECOND;  // how exactly a sink waits
constexpr GstClockTime kMaxEqualIntervals = 4;                 // intervals, for equal timestamps
constexpr double kExtraShare = 1 / 24., kMaxExtra = 24;        // share of frames, and frames
constexpr int kShedFramesToLearn = 64;                         // shed frames per measurement
constexpr int kMeanWeight = 8;                     // a new frame interval counts 1/8 in the mean
constexpr int kMaxPeriods = 3;                     // between computed frames
constexpr GstClockTime kTimeToTrust = GST_SECOND;  // a clock is trusted after running this long

GstClockTime add_clamped (GstClockTime time, GstClockTimeDiff difference)
{
  return difference < 0
             ? time - std::min (time, GstClockTime (0) - GstClockTime (difference))
             : time + std::min (GstClockTime (difference), GST_CLOCK_TIME_NONE - 1 - time);
}

/// Returns a - b, but at least 0.
GstClockTime minus (GstClockTime a, GstClockTime b)
{
  return a > b ? a - b : 0;
}

GstClockTime read_clock (clockid_t clock)
{
  timespec time = {};
  return clock_gettime (clock, &time) == 0 ? GST_TIMESPEC_TO_TIME (time) : 0;
}

}  // namespace

LoadShedder::Moment LoadShedder::Moment::now (GstElement *element)
{
  g_autoptr (GstClock) clock = gst_element_get_clock (element);
  return { read_clock (CLOCK_MONOTONIC), read_clock (CLOCK_THREAD_CPUTIME_ID),
           clock ? gst_clock_get_time (clock) : GST_CLOCK_TIME_NONE };
}

LoadShedder::Arrival LoadShedder::Arrival::of (GstElement *element, const FrameTimes &times,
                                               const GstVideoInfo &info, GstClockTime latency,
                                               bool live, const Moment &now)
{
  Arrival arrival = { times.running_time, times.duration, {}, latency, live };
  if (!GST_CLOCK_TIME_IS_VALID (arrival.duration) && info.fps_n > 0)
    arrival.duration = gst_util_uint64_scale_int (GST_SECOND, info.fps_d, info.fps_n);
  if (GST_CLOCK_TIME_IS_VALID (now.clock) && GST_CLOCK_TIME_IS_VALID (times.running_time))
    arrival.slack = GST_CLOCK_DIFF (now.clock, gst_element_get_base_time (element)
                                                   + times.running_time + latency);
  return arrival;
}

bool is_live (GstPad *sink)
{
  g_autoptr (GstQuery) query = gst_query_new_latency ();
  gboolean live = FALSE;
  if (gst_pad_peer_query (sink, query))
    gst_query_parse_latency (query, &live, nullptr, nullptr);
  return live;
}

void LoadShedder::forget_times ()
{
  const std::lock_guard lock (mutex_);
  times_ = {};
}

void LoadShedder::reset ()
{
  const std::lock_guard lock (mutex_);
  times_ = {};
  load_ = {};
}

GstClockTimeDiff LoadShedder::lateness_on_arrival (GstClockTime running_time) const
{
  const std::size_t n = std::min (times_.n_lateness, times_.lateness.size ());
  for (std::size_t i = 1; i <= n; i++)
    if (const auto &seen = times_.lateness[(times_.n_lateness - i) % times_.lateness.size ()];
        seen.running_time == running_time)
      return seen.late;
  return n > 0 ? times_.lateness[(times_.n_lateness - 1) % times_.lateness.size ()].late : 0;
}

void LoadShedder::note_qos (GstClockTime timestamp, GstClockTimeDiff late)
{
  const std::lock_guard lock (mutex_);
  times_.late_until = GST_CLOCK_TIME_NONE;
  times_.sink_waits = late < 0;
  if (!GST_CLOCK_TIME_IS_VALID (timestamp))
    return;
  if (late > 0)
    late = std::max<GstClockTimeDiff> (
        0, late - std::max<GstClockTimeDiff> (0, lateness_on_arrival (timestamp)));
  times_.late_until = add_clamped (timestamp, late);
}

GstClockTime LoadShedder::allowance () const
{
  return std::max (3 * load_.mean_interval, kMinAllowance);
}

/// Learns from a frame the mean interval, and whether timestamps jump. Returns the time between the
/// frame and the last one at the source: by both timestamps, or the mean interval if they jump.
GstClockTime LoadShedder::learn_interval (const Arrival &frame, GstClockTime elapsed)
{
  if (GST_CLOCK_TIME_IS_VALID (frame.duration) && frame.duration > 0)
    load_.mean_interval = frame.duration;
  const GstClockTime last = times_.last_running_time, now = frame.running_time;
  if (!GST_CLOCK_TIME_IS_VALID (last) || !GST_CLOCK_TIME_IS_VALID (now))
    return load_.mean_interval;
  if (now == last) {
    times_.equal_timestamps++;
    times_.advance =
        std::min (times_.advance + load_.mean_interval, kMaxEqualIntervals * load_.mean_interval);
    return load_.mean_interval;
  }
  const GstClockTime interval = now - last,
                     per_frame = interval / (1 + std::exchange (times_.equal_timestamps, 0)),
                     in_advance = std::exchange (times_.advance, 0);
  // No frame exists before its time. So the distance to the last frame is at most the wait of that
  // frame plus the time since then. If it is longer, the timestamps jump, and times that are known
  // by the old timestamps move with them.
  if (now < last
      || interval
             > std::max (2 * load_.mean_interval, load_.backlog + elapsed + load_.mean_interval)) {
    if (now < last)
      times_.late_until = GST_CLOCK_TIME_NONE;
    times_.n_lateness = 0;
    if (GST_CLOCK_TIME_IS_VALID (times_.last_computed))
      times_.last_computed = minus (now, minus (last, times_.last_computed) + load_.mean_interval);
    return load_.mean_interval;
  }
  if (load_.mean_interval == 0)
    load_.mean_interval = per_frame;
  else if (!GST_CLOCK_TIME_IS_VALID (frame.duration))
    load_.mean_interval =
        (load_.mean_interval * (kMeanWeight - 1) + std::min (per_frame, 2 * load_.mean_interval))
        / kMeanWeight;
  return minus (interval, in_advance);
}

void LoadShedder::update_backlog (const Arrival &frame, const Moment &now)
{
  const GstClockTime elapsed =
      GST_CLOCK_TIME_IS_VALID (times_.last_arrival) ? minus (now.wall, times_.last_arrival) : 0;
  const GstClockTime interval = learn_interval (frame, elapsed);
  if (frame.running_time != times_.last_running_time)
    times_.last_arrival = now.wall;
  times_.last_running_time = frame.running_time;
  load_.thread_waited = false;
  if (!load_.departure || load_.mean_interval == 0)
    return;
  const GstClockTime gap = minus (now.wall, load_.departure->wall),
                     upstream = std::min (gap, minus (now.cpu, load_.departure->cpu));
  load_.thread_waited = gap - upstream >= load_.mean_interval / 4 * 3;
  // A timestamp ahead of the clock does not show that a frame is early, unless a sink waits.
  const bool in_time = frame.slack && *frame.slack > 0
                       && (times_.sink_waits || *frame.slack <= GstClockTimeDiff (frame.latency));
  if (load_.thread_waited || in_time) {
    load_.backlog = load_.foreign_backlog = 0;
    load_.foreign_service = 0;
    load_.is_extra_frame = false;
    return;
  }
  if (std::exchange (load_.is_extra_frame, false))
    return;  // the last frame was shed for clock drift, not for the backlog
  load_.backlog = minus (load_.backlog + load_.service + upstream, interval);
  load_.foreign_backlog = minus (
      load_.foreign_backlog + upstream + std::min (load_.service, load_.foreign_service), interval);
}

void LoadShedder::note_arrival (const Arrival &frame, const Moment &now)
{
  const std::lock_guard lock (mutex_);
  update_backlog (frame, now);
  update_is_behind ();
  if (frame.live && frame.slack && GST_CLOCK_TIME_IS_VALID (frame.running_time))
    times_.lateness[times_.n_lateness++ % times_.lateness.size ()] = { frame.running_time,
                                                                       -*frame.slack };
  frame_ = frame;
  load_.arrival = now;
  note_clock (now);
}

/// Decides by the element's own part of the backlog whether the stream is behind. It stays behind
/// until the thread waits, or until the frames that may be shed beyond the backlog are used up.
void LoadShedder::update_is_behind ()
{
  if (load_.foreign_backlog > allowance ())
    load_.backlog = load_.foreign_backlog;
  const GstClockTime own = load_.backlog - load_.foreign_backlog;
  load_.extra_frames = std::min (load_.extra_frames + kExtraShare, kMaxExtra);
  if (own > allowance ()) {
    load_.is_behind = true;
  } else if (load_.backlog == 0 && load_.thread_waited) {
    load_.is_behind = false;
  } else if (load_.is_behind && own <= load_.mean_interval && load_.extra_frames >= 1) {
    load_.extra_frames -= 1;
    load_.is_extra_frame = true;
  } else if (own <= load_.mean_interval) {
    load_.is_behind = false;
  }
}

/// Notes once the pipeline's clock has run, at least half as fast as the monotonic clock.
void LoadShedder::note_clock (const Moment &now)
{
  if (!load_.first_arrival)
    load_.first_arrival = now;
  const GstClockTime wall = minus (now.wall, load_.first_arrival->wall);
  if (wall >= kTimeToTrust && GST_CLOCK_TIME_IS_VALID (now.clock)
      && GST_CLOCK_TIME_IS_VALID (load_.first_arrival->clock)
      && minus (now.clock, load_.first_arrival->clock) >= wall / 2)
    load_.clock_runs = true;
}

bool LoadShedder::decide_to_shed ()
{
  const std::lock_guard lock (mutex_);
  if (!load_.arrival)
    return false;
  const bool timed = GST_CLOCK_TIME_IS_VALID (frame_.running_time);
  const bool late = (frame_.live && load_.is_behind)
                    || (timed && GST_CLOCK_TIME_IS_VALID (times_.late_until)
                        && frame_.running_time <= times_.late_until);
  load_.is_shed = late && !is_due ();
  if (load_.is_shed)
    return true;
  if (timed)
    times_.last_computed = frame_.running_time;
  times_.last_computed_arrival = load_.arrival->wall;
  return false;
}

void LoadShedder::ignore_service ()
{
  const std::lock_guard lock (mutex_);
  load_.is_ignored = true;
}

/// Learns the shortest time that frames without a histogram take: shedding cannot save this time.
void LoadShedder::note_shed_service ()
{
  load_.min_shed_service = std::min (load_.min_shed_service, load_.service);
  if (++load_.n_shed_frames < kShedFramesToLearn)
    return;
  load_.foreign_service = load_.min_shed_service;
  load_.min_shed_service = GST_CLOCK_TIME_NONE;
  load_.n_shed_frames = 0;
}

void LoadShedder::note_departure (const Moment &now)
{
  const std::lock_guard lock (mutex_);
  if (!load_.arrival)
    return;  // reset () has forgotten the frame
  load_.service = minus (now.wall, load_.arrival->wall);
  if (!load_.clock_runs)
    load_.service =
        GST_CLOCK_TIME_IS_VALID (now.clock) && GST_CLOCK_TIME_IS_VALID (load_.arrival->clock)
            ? std::min (load_.service, minus (now.clock, load_.arrival->clock))
            : 0;
  // Two frames in a row on time show that a sink waits for the clock; one may be by chance.
  const bool on_time =
      frame_.slack
      && std::abs (GstClockTimeDiff (load_.service) - *frame_.slack) <= kClockTolerance;
  if (std::exchange (load_.was_on_time, on_time) && on_time)
    load_.service = 0;
  if (std::exchange (load_.is_ignored, false))
    load_.service = 0;
  else if (load_.is_shed)
    note_shed_service ();
  if (times_.last_computed_arrival == load_.arrival->wall)
    load_.cost = load_.service;
  load_.departure = now;
  load_.arrival = std::nullopt;
}

bool LoadShedder::is_due () const
{
  const bool timed = GST_CLOCK_TIME_IS_VALID (frame_.running_time);
  const GstClockTime last = timed ? times_.last_computed : times_.last_computed_arrival,
                     now = timed ? frame_.running_time : load_.arrival->wall;
  if (!GST_CLOCK_TIME_IS_VALID (last) || now < last)
    return true;
  const GstClockTime period = std::max<GstClockTime> (GST_SECOND, 2 * load_.cost);
  return now - last >= period
         && (load_.backlog - load_.foreign_backlog <= allowance ()
             || now - last >= kMaxPeriods * period);
}

}  // namespace integralhist
