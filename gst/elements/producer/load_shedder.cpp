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
constexpr GstClockTime kTimeToTrust = GST_SECOND;  // a clock is trusted after running this long

GstClockTime add_clamped (GstClockTime time, GstClockTimeDiff difference)
{
  return difference < 0
             ? time - std::min (time, GstClockTime (0) - GstClockTime (difference))
             : time + std::min (GstClockTime (difference), GST_CLOCK_TIME_NONE - 1 - time);
}

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

void LoadShedder::forget_times ()
{
  const std::lock_guard lock (mutex_);
  last_running_time_ = last_arrival_ = late_until_ = GST_CLOCK_TIME_NONE;
  last_computed_ = last_computed_arrival_ = GST_CLOCK_TIME_NONE;
  advance_ = 0;
  equal_timestamps_ = 0;
  n_lateness_ = 0;
  sink_waits_ = false;
}

void LoadShedder::reset ()
{
  forget_times ();
  const std::lock_guard lock (mutex_);
  first_ = arrived_ = left_ = std::nullopt;
  clock_runs_ = false;
  service_ = foreign_service_ = mean_interval_ = backlog_ = foreign_backlog_ = cost_ = 0;
  min_shed_service_ = GST_CLOCK_TIME_NONE;
  n_shed_frames_ = 0;
  was_on_time_ = true;
  is_behind_ = thread_waited_ = is_extra_frame_ = is_shed_ = is_ignored_ = false;
  extra_frames_ = 0;
}

GstClockTimeDiff LoadShedder::lateness_on_arrival (GstClockTime running_time) const
{
  const std::size_t n = std::min (n_lateness_, lateness_.size ());
  for (std::size_t i = 1; i <= n; i++)
    if (const auto &seen = lateness_[(n_lateness_ - i) % lateness_.size ()];
        seen.running_time == running_time)
      return seen.late;
  return n > 0 ? lateness_[(n_lateness_ - 1) % lateness_.size ()].late : 0;
}

void LoadShedder::note_qos (GstClockTime timestamp, GstClockTimeDiff late)
{
  const std::lock_guard lock (mutex_);
  late_until_ = GST_CLOCK_TIME_NONE;
  sink_waits_ = late < 0;
  if (!GST_CLOCK_TIME_IS_VALID (timestamp))
    return;
  if (late > 0)
    late = std::max<GstClockTimeDiff> (
        0, late - std::max<GstClockTimeDiff> (0, lateness_on_arrival (timestamp)));
  late_until_ = add_clamped (timestamp, late);
}

GstClockTime LoadShedder::allowance () const
{
  return std::max (3 * mean_interval_, kMinAllowance);
}

/// Returns the time between a frame and the last one at the source: from the timestamps of both, or
/// the mean interval if the timestamps jump.
GstClockTime LoadShedder::interval_before (const Arrival &frame, GstClockTime elapsed)
{
  if (GST_CLOCK_TIME_IS_VALID (frame.duration) && frame.duration > 0)
    mean_interval_ = frame.duration;
  const GstClockTime last = last_running_time_, now = frame.running_time;
  if (!GST_CLOCK_TIME_IS_VALID (last) || !GST_CLOCK_TIME_IS_VALID (now))
    return mean_interval_;
  if (now == last) {
    equal_timestamps_++;
    advance_ = std::min (advance_ + mean_interval_, kMaxEqualIntervals * mean_interval_);
    return mean_interval_;
  }
  const GstClockTime interval = now - last,
                     per_frame = interval / (1 + std::exchange (equal_timestamps_, 0)),
                     in_advance = std::exchange (advance_, 0);
  // No frame exists before its time. So the distance to the last frame is at most the wait of that
  // frame plus the time since then. If it is longer, the timestamps jump, and times that are known
  // by the old timestamps move with them.
  if (now < last || interval > std::max (2 * mean_interval_, backlog_ + elapsed + mean_interval_)) {
    if (now < last)
      late_until_ = GST_CLOCK_TIME_NONE;
    n_lateness_ = 0;
    if (GST_CLOCK_TIME_IS_VALID (last_computed_))
      last_computed_ = minus (now, minus (last, last_computed_) + mean_interval_);
    return mean_interval_;
  }
  if (mean_interval_ == 0)
    mean_interval_ = per_frame;
  else if (!GST_CLOCK_TIME_IS_VALID (frame.duration))
    mean_interval_ = (mean_interval_ * (kMeanWeight - 1) + std::min (per_frame, 2 * mean_interval_))
                     / kMeanWeight;
  return minus (interval, in_advance);
}

void LoadShedder::update_backlog (const Arrival &frame, const Moment &now)
{
  const GstClockTime elapsed =
      GST_CLOCK_TIME_IS_VALID (last_arrival_) ? minus (now.wall, last_arrival_) : 0;
  const GstClockTime interval = interval_before (frame, elapsed);
  if (frame.running_time != last_running_time_)
    last_arrival_ = now.wall;
  last_running_time_ = frame.running_time;
  thread_waited_ = false;
  if (!left_ || mean_interval_ == 0)
    return;
  const GstClockTime gap = minus (now.wall, left_->wall),
                     upstream = std::min (gap, minus (now.cpu, left_->cpu));
  thread_waited_ = gap - upstream >= mean_interval_ / 4 * 3;
  // A timestamp ahead of the clock does not show that a frame is early, unless a sink waits.
  const bool in_time = frame.early && *frame.early > 0
                       && (sink_waits_ || *frame.early <= GstClockTimeDiff (frame.latency));
  if (thread_waited_ || in_time) {
    backlog_ = foreign_backlog_ = 0;
    foreign_service_ = 0;
    is_extra_frame_ = false;
    return;
  }
  if (std::exchange (is_extra_frame_, false))
    return;  // the last frame was shed for clock drift, not for the backlog
  backlog_ = minus (backlog_ + service_ + upstream, interval);
  foreign_backlog_ =
      minus (foreign_backlog_ + upstream + std::min (service_, foreign_service_), interval);
}

void LoadShedder::arrive (const Arrival &frame, const Moment &now)
{
  const std::lock_guard lock (mutex_);
  update_backlog (frame, now);
  if (foreign_backlog_ > allowance ())
    backlog_ = foreign_backlog_;
  const GstClockTime own = backlog_ - foreign_backlog_;
  extra_frames_ = std::min (extra_frames_ + kExtraShare, kMaxExtra);
  if (own > allowance ())
    is_behind_ = true;
  else if (backlog_ == 0 && thread_waited_)
    is_behind_ = false;
  else if (is_behind_ && own <= mean_interval_ && extra_frames_ >= 1) {
    extra_frames_ -= 1;
    is_extra_frame_ = true;
  } else if (own <= mean_interval_)
    is_behind_ = false;
  if (frame.live && frame.early && GST_CLOCK_TIME_IS_VALID (frame.running_time))
    lateness_[n_lateness_++ % lateness_.size ()] = { frame.running_time, -*frame.early };
  frame_ = frame;
  arrived_ = now;
  if (!first_)
    first_ = now;
  const GstClockTime wall = minus (now.wall, first_->wall);
  if (wall >= kTimeToTrust && GST_CLOCK_TIME_IS_VALID (now.clock)
      && GST_CLOCK_TIME_IS_VALID (first_->clock) && minus (now.clock, first_->clock) >= wall / 2)
    clock_runs_ = true;
}

bool LoadShedder::sheds ()
{
  const std::lock_guard lock (mutex_);
  if (!arrived_)
    return false;
  const bool timed = GST_CLOCK_TIME_IS_VALID (frame_.running_time);
  const bool late =
      (frame_.live && is_behind_)
      || (timed && GST_CLOCK_TIME_IS_VALID (late_until_) && frame_.running_time <= late_until_);
  is_shed_ = late && !is_due ();
  if (is_shed_)
    return true;
  if (timed)
    last_computed_ = frame_.running_time;
  last_computed_arrival_ = arrived_->wall;
  return false;
}

void LoadShedder::ignore_service ()
{
  const std::lock_guard lock (mutex_);
  is_ignored_ = true;
}

/// Learns the shortest time that frames without a histogram take: shedding cannot save this time.
void LoadShedder::note_shed_service ()
{
  min_shed_service_ = std::min (min_shed_service_, service_);
  if (++n_shed_frames_ < kShedFramesToLearn)
    return;
  foreign_service_ = min_shed_service_;
  min_shed_service_ = GST_CLOCK_TIME_NONE;
  n_shed_frames_ = 0;
}

void LoadShedder::leave (const Moment &now)
{
  const std::lock_guard lock (mutex_);
  if (!arrived_)
    return;  // reset () has forgotten the frame
  service_ = minus (now.wall, arrived_->wall);
  if (!clock_runs_)
    service_ = GST_CLOCK_TIME_IS_VALID (now.clock) && GST_CLOCK_TIME_IS_VALID (arrived_->clock)
                   ? std::min (service_, minus (now.clock, arrived_->clock))
                   : 0;
  // Two frames in a row on time show that a sink waits for the clock; one may be by chance.
  const bool on_time =
      frame_.early && std::abs (GstClockTimeDiff (service_) - *frame_.early) <= kClockTolerance;
  if (std::exchange (was_on_time_, on_time) && on_time)
    service_ = 0;
  if (std::exchange (is_ignored_, false))
    service_ = 0;
  else if (is_shed_)
    note_shed_service ();
  if (last_computed_arrival_ == arrived_->wall)
    cost_ = service_;
  left_ = now;
  arrived_ = std::nullopt;
}

bool LoadShedder::is_due () const
{
  const bool timed = GST_CLOCK_TIME_IS_VALID (frame_.running_time);
  const GstClockTime last = timed ? last_computed_ : last_computed_arrival_,
                     now = timed ? frame_.running_time : arrived_->wall;
  if (!GST_CLOCK_TIME_IS_VALID (last) || now < last)
    return true;
  const GstClockTime period = std::max<GstClockTime> (GST_SECOND, 2 * cost_);
  return now - last >= period
         && (backlog_ - foreign_backlog_ <= allowance () || now - last >= 3 * period);
}

}  // namespace integralhist
