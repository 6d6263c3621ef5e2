// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Decides which frames pass without a histogram if a stream cannot keep up. This bounds the delay
// of the stream.
//
// Only the delay that the element causes counts. A frame's service is the time that the streaming
// thread spends in the element and in the elements after it, without a sink's wait for the clock.
// Until the pipeline's clock has run for a second, the service is at most the time that passed on
// that clock, because the clock of a test may stand still; the same holds for a while after a clock
// jumps back. The backlog is Lindley's recursion for the waiting time in a queue (1952):
//
//   backlog = max (0, backlog + service - interval)
//
// `interval` is the time between two frames at the source, from their timestamps. Bursts, stalls,
// and timestamps that jump change when frames arrive, but not the service, so they shed nothing. If
// the thread waits for the source, nothing is queued and the backlog is 0.
//
// If the timestamps' clock drifts, the backlog is too small. So up to 4 % of the frames are shed
// beyond the backlog, until the thread waits.
//
// The thread's work upstream, such as decoding, is added to the service, because it leaves less of
// the interval. A second backlog counts only foreign work: that upstream work, and the time that
// frames without a histogram take after the element. If foreign work alone cannot keep up, frames
// without a histogram do not help, and no frame is shed.
//
// If a sink reports late frames (a QoS event), frames are shed as in GstBaseTransform. For a live
// source, the lateness that a frame already had on arrival is subtracted first.
//
// One frame per second is always computed, or, if a frame takes longer than half a second, one in
// twice that time. If the element's own backlog is too long, it is one in three such periods.
#pragma once

#include <array>
#include <mutex>
#include <optional>

#include <gst/video/video.h>

#include <gst/elements/base/messages.hpp>

namespace integralhist {

class LoadShedder {
public:
  /// A time on three clocks: the monotonic clock, which never jumps; the processor time of the
  /// calling thread; and the pipeline's clock, which may jump or stand still.
  struct Moment {
    GstClockTime wall, cpu, clock;
    static Moment now (GstElement *element);
  };

  struct Arrival {
    GstClockTime running_time = GST_CLOCK_TIME_NONE;  // of the frame
    GstClockTime duration = GST_CLOCK_TIME_NONE;      // duration of the frame, by buffer or caps
    std::optional<GstClockTimeDiff> slack;            // time until a sink shows the frame
    GstClockTime latency = 0;                         // of the pipeline
    bool live = false;

    /// Returns what there is to know of a frame that reaches an element at `now`. `info` is the
    /// video's format, `latency` the pipeline's latency in nanoseconds.
    static Arrival of (GstElement *element, const FrameTimes &times, const GstVideoInfo &info,
                       GstClockTime latency, bool live, const Moment &now);
  };

  void reset ();

  /// Forgets timestamps and QoS events, because another segment begins. The backlog stays.
  void forget_times ();

  /// Notes a QoS event: the frame of this running time came `late` nanoseconds too late.
  void note_qos (GstClockTime timestamp, GstClockTimeDiff late);

  void note_arrival (const Arrival &frame, const Moment &now);

  /// Decides whether the last frame that arrived passes without a histogram. Call it once, after
  /// note_arrival ().
  bool decide_to_shed ();

  /// Keeps the time of the last frame out of the backlog, because it is not typical.
  void ignore_service ();

  /// Notes that downstream has handled the last frame that arrived.
  void note_departure (const Moment &now);

private:
  GstClockTime learn_interval (const Arrival &frame, GstClockTime elapsed);
  void update_backlog (const Arrival &frame, const Moment &now);
  void update_is_behind ();
  void note_clock (const Moment &now);
  GstClockTime allowance () const;
  bool is_due () const;
  GstClockTimeDiff lateness_on_arrival (GstClockTime running_time) const;
  void note_shed_service ();

  std::mutex mutex_;  // guards the members below; QoS events come from downstream

  Arrival frame_;  // that the streaming thread is handling, or the last one that it has handled

  struct Lateness {
    GstClockTime running_time = GST_CLOCK_TIME_NONE;
    GstClockTimeDiff late = 0;
  };

  /// Times by the timestamps of a segment.
  struct Times {
    GstClockTime last_running_time = GST_CLOCK_TIME_NONE;
    GstClockTime last_arrival = GST_CLOCK_TIME_NONE;  // monotonic time when last_running_time came
    GstClockTime advance = 0;                         // ns, credited for equal timestamps
    guint equal_timestamps = 0;                       // frames in a row

    // From the last QoS event.
    GstClockTime late_until = GST_CLOCK_TIME_NONE;  // ns of running time
    bool sink_waits = false;                        // the sink had time left

    // The running time of the last frame with a histogram. If the running time is unknown, the
    // clock's time at which the frame arrived.
    GstClockTime last_computed = GST_CLOCK_TIME_NONE, last_computed_arrival = GST_CLOCK_TIME_NONE;

    std::array<Lateness, 256> lateness;  // of recent frames, a ring
    std::size_t n_lateness = 0;
  } times_;

  /// The costs of frames, and the work that is left to do.
  struct Load {
    std::optional<Moment> arrival, departure, first_arrival;
    bool clock_runs = false;  // the pipeline's clock runs like the monotonic clock
    GstClockTime service = 0;
    bool was_on_time = true;         // the last frame left just when a sink shows it
    GstClockTime mean_interval = 0;  // 0 if unknown

    GstClockTime backlog = 0, foreign_backlog = 0;
    bool is_shed = false, is_ignored = false;  // about the frame in service

    GstClockTime cost = 0;             // ns that the last frame with a histogram took
    GstClockTime foreign_service = 0;  // ns that a frame without a histogram takes
    GstClockTime min_shed_service = GST_CLOCK_TIME_NONE;  // ns, shortest of n_shed_frames frames
    int n_shed_frames = 0;        // frames since foreign_service was learned
    bool thread_waited = false;   // the thread waited for the source before this frame
    bool is_behind = false;       // the backlog exceeded allowance () and is not worked off
    double extra_frames = 0;      // number of frames that may be shed although the backlog is small
    bool is_extra_frame = false;  // the current frame is shed although the backlog is small
  } load_;
};

/// Returns whether the source of a pipeline is live, by a latency query upstream of a sink pad.
bool is_live (GstPad *sink);

}  // namespace integralhist
