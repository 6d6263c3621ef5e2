// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include <gst/integralhist/gstintegralhist.h>

#include "messages.hpp"

namespace integralhist {

/// Posts the element message `integral-histogram` with the histograms of some regions, or
/// `integral-image` with their sums, for one frame after another, from a thread of its own: the
/// frames travel on while their tensors are computed.
class RegionReporter {
public:
  struct Frame {
    GstIntegralHistogram *histogram;  // owned
    guint64 number;
    FrameTimes times;
    std::vector<GstVideoRectangle> regions;
  };

  /// At most `limit` frames wait here for their turn. An error is posted only if nobody has `told`
  /// one yet.
  static Expected<std::unique_ptr<RegionReporter>> start (GstElement *element, unsigned limit,
                                                          std::atomic<bool> &told);
  /// Frames that still wait are dropped.
  ~RegionReporter ();

  /// Waits while the queue is full, so that frames do not pile up behind a slow application. When
  /// flushing, frames are dropped.
  void push (Frame frame);
  void set_flushing (bool flushing);
  /// Waits until all messages are posted, or until flushing.
  void drain ();

private:
  RegionReporter (GstElement *element, unsigned limit, std::atomic<bool> &told)
      : element_ (element), limit_ (limit), told_ (told)
  {
  }

  void work ();
  /// Waits for the frame's tensor; false where that was given up.
  /// Waits for the tensor. False where a stop, or a flush since there had been so many, comes
  /// first.
  bool await (const Frame &frame, guint flushes);
  /// False after an element error.
  bool post (const Frame &frame);
  void drop_queue ();

  GstElement *const element_;
  const unsigned limit_;
  std::atomic<bool> &told_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<Frame> queue_;
  guint flushes_ = 0;
  bool busy_ = false, failed_ = false, flushing_ = false, stopping_ = false;

  Thread thread_;
};

}  // namespace integralhist
