// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gst/integralhist/gstintegralhist.h>

namespace integralhist {

/// "x,y,w,h;x,y,w,h", each with a width and a height of at least one pixel. Throws std::invalid_argument with a message for users.
std::vector<GstVideoRectangle> parse_regions (const char *text);

/// Posts the element message `integral-histogram` with the histograms of some regions, for one frame after another, from a thread of its own: the
/// frames travel on while their tensors are computed.
class RegionReporter {
public:
  struct Frame {
    GstIntegralHistogram *histogram;  // owned
    guint64 number;
    GstClockTime timestamp, stream_time, running_time, duration;
    std::vector<GstVideoRectangle> regions;
  };

  explicit RegionReporter (GstElement *element) : element_ (element), thread_ ([this] { work (); }) {}
  /// Posts what is left first.
  ~RegionReporter ();

  void push (Frame frame);
  /// Waits until all messages are posted.
  void drain ();

private:
  void work ();
  void post (const Frame &frame);

  GstElement *const element_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<Frame> queue_;
  bool busy_ = false, stopping_ = false;

  std::jthread thread_;
};

}  // namespace integralhist
