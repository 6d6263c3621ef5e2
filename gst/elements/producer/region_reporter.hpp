// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Posts a message for each frame: `integral-histogram` with histograms of regions, or
// `integral-image` with sums. A thread waits for the tensors, so that frames need not wait.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include <gst/elements/base/messages.hpp>
#include <gst/integralhist/base/thread.hpp>
#include <gst/integralhist/gstintegralhist.h>
#include <gst/integralhist/meta/region_answers.hpp>

namespace integralhist {

class RegionReporter {
public:
  struct Frame {
    HistogramRef histogram;
    guint64 number;
    FrameTimes times;
    std::shared_ptr<RegionAnswers> answers;
  };

  /// Posts an error with `doing` in front, unless the element has posted one, or is flushing.
  using PostError = std::function<void (const Error &, const char *doing)>;
  /// Starts the thread that posts messages. At most `limit` frames wait; `cancelled` drops them.
  static Expected<std::unique_ptr<RegionReporter>> start (GstElement *element, unsigned limit,
                                                          PostError post_error,
                                                          const std::atomic<bool> &cancelled);
  ~RegionReporter ();

  /// Queues a frame. If the queue is full, waits, so that a slow application does not let frames
  /// pile up. Drops the frame if the calling thread is cancelled.
  void push (Frame frame);
  /// Drops all queued frames after a flush, before `cancelled` is reset.
  void flush ();
  /// Accepts frames again after an error, which stops all reports.
  void forget_failure ();
  /// Waits until all messages are posted, or until the calling thread is cancelled.
  void drain ();

private:
  RegionReporter (GstElement *element, unsigned limit, PostError post_error,
                  const std::atomic<bool> &cancelled)
      : element_ (element), limit_ (limit), post_error_ (std::move (post_error)),
        cancelled_ (cancelled)
  {
  }

  void work ();
  /// Posts the answers about a frame's regions, unless a flush or a stop drops the frame; `flushes`
  /// counts the flushes before it left the queue. Returns false after an element error.
  bool post (const Frame &frame, guint flushes);

  GstElement *const element_;
  const unsigned limit_;
  const PostError post_error_;
  const std::atomic<bool> &cancelled_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<Frame> queue_;
  guint flushes_ = 0;
  bool busy_ = false, failed_ = false, stopping_ = false;

  Thread thread_;
};

}  // namespace integralhist
