// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A query for the counts or sums of a frame's regions, which waits until a consumer needs the
// answer.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <gst/video/video.h>

#include <gst/integralhist/api/histogram.hpp>
#include <gst/integralhist/gstintegralhistogram.h>

namespace integralhist {

/// Regions of a frame, and the kind of numbers that are computed for them.
struct RegionQuery {
  int width = 1, height = 1;               // of the frame
  std::vector<GstVideoRectangle> regions;  // in pixels of the histogram's frame, and within it
  std::vector<guint64> pixels;             // of each region, when the histogram was computed
  HistogramSpec spec = {};
  GstIntegralHistogramContent content = GST_INTEGRAL_HISTOGRAM_CONTENT_BINS;
  guint planes = 1;  // bins, or summed-area tables
  guint weight_unit = 1;

  RegionQuery () = default;
  /// Makes a query about regions of a histogram's frame; they are clipped to the frame.
  RegionQuery (GstIntegralHistogram *histogram, std::span<const GstVideoRectangle> of_frame);

  /// Returns how many numbers the answer has.
  std::size_t n_values () const { return regions.size () * planes; }
};

/// A query about a frame's regions, and its answer. The first consumer that needs the answer (a
/// message, or a reader of a meta or a tensor) asks the query. Until then this object holds the
/// histogram.
class RegionAnswers {
public:
  RegionAnswers (GstIntegralHistogram *histogram, std::span<const GstVideoRectangle> regions);
  /// Makes a query with a known answer.
  RegionAnswers (RegionQuery query, std::vector<guint64> values);
  RegionAnswers (const RegionAnswers &) = delete;
  RegionAnswers &operator= (const RegionAnswers &) = delete;

  const RegionQuery asked;

  /// Returns the answer: region by region, a value for each plane. If it is not known yet, asks the
  /// query and waits for the tensor, or waits for another thread that asks; a CancelScope ends both
  /// waits. After an error the next caller asks again.
  Expected<std::span<const guint64>> ask ();

private:
  Expected<> ask_once ();

  std::mutex mutex_;  // guards the two below
  std::condition_variable changed_;
  enum class State { open, asking, answered } state_;

  // The thread that asks writes these two; they are constant once the query is answered.
  HistogramRef histogram_;
  std::vector<guint64> values_;
};

/// Attaches a GstIntegralHistogramRegionsMeta with these answers to a buffer.
void add_regions_meta (GstBuffer *buffer, std::shared_ptr<RegionAnswers> answers);

}  // namespace integralhist
