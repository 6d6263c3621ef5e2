// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gst/integralhist/gstintegralhist.h>

namespace integralhist {

/// "x,y,w,h;x,y,w,h", each with a width and a height of at least one pixel. Throws std::invalid_argument with a message for users, about the
/// property of this name.
std::vector<GstVideoRectangle> parse_regions (const char *text, const char *name = "regions");

/// Posts the element message `integral-histogram` with the histograms of some regions, or `integral-image` with their sums, for one frame after another,
/// from a thread of its own: the frames travel on while their tensors are computed.
class RegionReporter {
public:
  struct Frame {
    GstIntegralHistogram *histogram;  // owned
    guint64 number;
    GstClockTime timestamp, stream_time, running_time, duration;
    std::vector<GstVideoRectangle> regions;
  };

  /// At most `limit` frames wait here for their turn. An error is posted only if nobody has `told` one yet.
  RegionReporter (GstElement *element, unsigned limit, std::atomic<bool> &told)
      : element_ (element), limit_ (limit), told_ (told), thread_ ([this] { work (); })
  {
  }
  /// Frames that still wait are dropped.
  ~RegionReporter ();

  /// Waits while the queue is full, so that frames do not pile up behind a slow application. When flushing, frames are dropped.
  void push (Frame frame);
  void set_flushing (bool flushing);
  /// Waits until all messages are posted.
  void drain ();

private:
  void work ();
  /// False after an element error.
  bool post (const Frame &frame);
  void drop_queue ();

  GstElement *const element_;
  const unsigned limit_;
  std::atomic<bool> &told_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<Frame> queue_;
  bool busy_ = false, failed_ = false, flushing_ = false, stopping_ = false;

  std::jthread thread_;
};

}  // namespace integralhist
