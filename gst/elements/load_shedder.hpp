// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Decides which frames of a stream that cannot keep up pass without a histogram, which bounds the
// stream's delay:
//
//   - a frame that a sink calls too late to show (a QoS event), as in GstBaseTransform;
//   - of a live source, a frame whose delay, from its running time to its arrival, is longer than
//     that of other frames of the last seconds, and those behind it until the backlog is gone.
//
// One frame a second is computed all the same, as sinks show one; fewer where one takes that long.
#pragma once

#include <mutex>

#include <gst/gst.h>

namespace integralhist {

class LoadShedder {
public:
  void reset ();

  /// Notes a QoS event: the frame of this running time came `late` nanoseconds too late.
  void note_qos (GstClockTime timestamp, GstClockTimeDiff late);

  struct Arrival {
    GstClockTime running_time = GST_CLOCK_TIME_NONE;  // of the frame
    GstClockTime duration = GST_CLOCK_TIME_NONE;
    GstClockTime now = GST_CLOCK_TIME_NONE;  // running time on the clock
    bool live = false;
  };

  /// Returns whether the frame passes without a histogram.
  bool sheds (const Arrival &frame);

private:
  bool is_behind (const Arrival &frame);
  bool is_due (GstClockTime running_time) const;

  std::mutex mutex_;  // guards all; events come from downstream
  GstClockTime earliest_ = GST_CLOCK_TIME_NONE, last_computed_ = GST_CLOCK_TIME_NONE,
               bucket_ = GST_CLOCK_TIME_NONE;
  gint64 least_[2] = { G_MAXINT64, G_MAXINT64 };  // of this 10 s bucket and the last one
  GstClockTime last_now_ = GST_CLOCK_TIME_NONE;
  GstClockTime cost_ = 0;                 // from the last computed frame to the next arrival
  bool passed_ = false, behind_ = false;  // the last frame passed; the stream is behind
};

}  // namespace integralhist
