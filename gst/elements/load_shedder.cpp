// SPDX-License-Identifier: LGPL-2.1-or-later
#include "load_shedder.hpp"

#include <algorithm>

namespace integralhist {

static constexpr GstClockTime kBucket = 10 * GST_SECOND, kAllowance = 100 * GST_MSECOND,
                              kNothing = 5 * GST_MSECOND;

void LoadShedder::reset ()
{
  const std::lock_guard lock (mutex_);
  earliest_ = last_computed_ = GST_CLOCK_TIME_NONE;
  least_[0] = least_[1] = G_MAXINT64;
  bucket_ = last_now_ = GST_CLOCK_TIME_NONE;
  cost_ = 0;
  behind_ = false;
}

void LoadShedder::note_qos (GstClockTime timestamp, GstClockTimeDiff late)
{
  const std::lock_guard lock (mutex_);
  if (!GST_CLOCK_TIME_IS_VALID (timestamp))
    earliest_ = GST_CLOCK_TIME_NONE;
  else
    earliest_ =
        late < 0 ? timestamp - std::min (timestamp, GstClockTime (0) - GstClockTime (late))
                 : timestamp + std::min (GstClockTime (late), GST_CLOCK_TIME_NONE - 1 - timestamp);
}

bool LoadShedder::sheds (const Arrival &frame)
{
  const std::lock_guard lock (mutex_);
  if (!GST_CLOCK_TIME_IS_VALID (frame.running_time))
    return false;
  const bool behind = frame.live && GST_CLOCK_TIME_IS_VALID (frame.now) && is_behind (frame);
  const bool late =
      behind || (GST_CLOCK_TIME_IS_VALID (earliest_) && frame.running_time <= earliest_);
  passed_ = late && !is_due (frame.running_time);
  if (!passed_)
    last_computed_ = frame.running_time;
  return passed_;
}

/// Compares the delay with the least one of the last seconds: the delay upstream is unknown and
/// need not be in the latency. A stream stays behind until its backlog is gone, because computing
/// frames before would raise the least delay each time.
bool LoadShedder::is_behind (const Arrival &frame)
{
  const gint64 delay = gint64 (frame.now) - gint64 (frame.running_time);
  if (!GST_CLOCK_TIME_IS_VALID (bucket_) || frame.now < bucket_ || frame.now - bucket_ > kBucket) {
    least_[1] = least_[0];
    least_[0] = G_MAXINT64;
    bucket_ = frame.now;
  }
  least_[0] = std::min (least_[0], delay);
  const GstClockTime duration = GST_CLOCK_TIME_IS_VALID (frame.duration) ? frame.duration : 0;
  const GstClockTime since =
      GST_CLOCK_TIME_IS_VALID (last_now_) && frame.now > last_now_ ? frame.now - last_now_ : 0;
  const gint64 more = delay - std::min (least_[0], least_[1]);
  const bool waited_for = passed_ && duration > 0 && since >= duration / 4 * 3;
  if (!passed_)
    cost_ = since;
  last_now_ = frame.now;
  if (more > gint64 (std::max (3 * duration, kAllowance)))
    behind_ = true;
  else if (waited_for || more <= gint64 (kNothing))
    behind_ = false;
  return behind_;
}

bool LoadShedder::is_due (GstClockTime running_time) const
{
  return !GST_CLOCK_TIME_IS_VALID (last_computed_) || running_time < last_computed_
         || running_time - last_computed_ >= std::max<GstClockTime> (GST_SECOND, 2 * cost_);
}

}  // namespace integralhist
