// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What regions of a frame count or add up to.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include <gst/integralhist/gstintegralhist.h>
#include <gst/integralhist/histogram.hpp>
#include <gst/video/video.h>

namespace integralhist {

struct HistogramUnref {
  void operator() (GstIntegralHistogram *h) const { gst_integral_histogram_unref (h); }
};
using HistogramRef = std::unique_ptr<GstIntegralHistogram, HistogramUnref>;

/// The question about a frame's regions, and its answer. It is asked once, by whoever wants it
/// first: a message, or who reads a tensor. The histogram is held until then.
class RegionAnswers {
public:
  RegionAnswers (GstIntegralHistogram *histogram, std::vector<GstVideoRectangle> regions);
  RegionAnswers (const RegionAnswers &) = delete;
  RegionAnswers &operator= (const RegionAnswers &) = delete;

  const std::vector<GstVideoRectangle> regions;
  const Counted counted;
  const GstIntegralHistogramContent content;
  const std::size_t planes;  // bins, or the tables of an integral image
  const guint weight_unit;

  /// Asks, unless that is done. Waits for the tensor, and for another thread that asks; an
  /// Interruptible ends both. After an error the next one asks again.
  Expected<> ask ();

  // The answer, once ask () has succeeded: a value for each plane of each region, region by region.
  /// Returns what bins count, of CONTENT_BINS.
  const std::vector<guint32> &counts () const { return counts_; }
  /// Returns what the planes add up to, of the other contents.
  const std::vector<guint64> &sums () const { return sums_; }
  /// Returns the sums as the pixels' weights, of CONTENT_WEIGHTS; they are exact.
  const std::vector<double> &weights () const { return weights_; }

private:
  Expected<> ask_once ();

  std::mutex mutex_;  // guards the two below
  std::condition_variable changed_;
  enum class State { open, asking, answered } state_ = State::open;

  // of the thread that asks, and constant once answered
  HistogramRef histogram_;
  std::vector<guint32> counts_;
  std::vector<guint64> sums_;
  std::vector<double> weights_;
};

}  // namespace integralhist
