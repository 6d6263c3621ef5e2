// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Decides which frames of a stream that cannot keep up pass without a histogram, which bounds the
// stream's delay:
//
//   - a frame that a sink calls too late to show (a QoS event), as in GstBaseTransform;
//   - of a live source, a frame that comes later after its running time than frames of the last
//     seconds, and those behind it until they have to be waited for again.
//
// One frame a second is computed all the same, as sinks show one; fewer where one takes that long.
#pragma once

#include <algorithm>
#include <mutex>

#include <gst/gst.h>

namespace integralhist {

class LoadShedder {
public:
  void reset ()
  {
    const std::lock_guard lock (mutex_);
    earliest_ = last_computed_ = GST_CLOCK_TIME_NONE;
    least_[0] = least_[1] = G_MAXINT64;
    bucket_ = last_now_ = GST_CLOCK_TIME_NONE;
    cost_ = 0;
    behind_ = false;
  }

  /// Notes a QoS event: the frame of this running time came `late` nanoseconds too late.
  void note_qos (GstClockTime timestamp, GstClockTimeDiff late)
  {
    const std::lock_guard lock (mutex_);
    if (!GST_CLOCK_TIME_IS_VALID (timestamp))
      earliest_ = GST_CLOCK_TIME_NONE;
    else
      earliest_ =
          late < 0
              ? timestamp - std::min (timestamp, GstClockTime (0) - GstClockTime (late))
              : timestamp + std::min (GstClockTime (late), GST_CLOCK_TIME_NONE - 1 - timestamp);
  }

  struct Arrival {
    GstClockTime running_time = GST_CLOCK_TIME_NONE;  // of the frame
    GstClockTime duration = GST_CLOCK_TIME_NONE;
    GstClockTime now = GST_CLOCK_TIME_NONE;  // running time on the clock
    bool live = false;
  };

  /// Returns whether the frame passes without a histogram.
  bool sheds (const Arrival &frame)
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

private:
  /// Compares the delay with the least one of the last seconds: the delay upstream is unknown and
  /// need not be in the latency. A stream stays behind until its backlog is gone, because computing
  /// frames before would raise the least delay each time.
  bool is_behind (const Arrival &frame)
  {
    const gint64 delay = gint64 (frame.now) - gint64 (frame.running_time);
    if (!GST_CLOCK_TIME_IS_VALID (bucket_) || frame.now < bucket_
        || frame.now - bucket_ > kBucket) {
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

  bool is_due (GstClockTime running_time) const
  {
    return !GST_CLOCK_TIME_IS_VALID (last_computed_) || running_time < last_computed_
           || running_time - last_computed_ >= std::max<GstClockTime> (GST_SECOND, 2 * cost_);
  }

  static constexpr GstClockTime kBucket = 10 * GST_SECOND, kAllowance = 100 * GST_MSECOND,
                                kNothing = 5 * GST_MSECOND;

  std::mutex mutex_;  // guards all; events come from downstream
  GstClockTime earliest_ = GST_CLOCK_TIME_NONE, last_computed_ = GST_CLOCK_TIME_NONE,
               bucket_ = GST_CLOCK_TIME_NONE;
  gint64 least_[2] = { G_MAXINT64, G_MAXINT64 };  // of this 10 s bucket and the last one
  GstClockTime last_now_ = GST_CLOCK_TIME_NONE;
  GstClockTime cost_ = 0;                 // from the last computed frame to the next arrival
  bool passed_ = false, behind_ = false;  // the last frame passed; the stream is behind
};

}  // namespace integralhist
