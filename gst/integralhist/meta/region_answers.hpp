// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A query for the counts or sums of a frame's regions, asked only when a consumer needs the answer.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <gst/video/video.h>

#include <gst/integralhist/api/histogram.hpp>
#include <gst/integralhist/base/cancel.hpp>
#include <gst/integralhist/gstintegralhistogram.h>

namespace integralhist {

/// Regions of a frame of width x height pixels, each with its number of pixels, and the kind of
/// numbers that are computed for them.
struct RegionQuery {
  int width = 1, height = 1;
  std::vector<GstVideoRectangle> regions;  // within the frame
  std::vector<guint64> pixels;
  HistogramSpec spec = {};
  GstIntegralHistogramContent content = GST_INTEGRAL_HISTOGRAM_CONTENT_BINS;
  guint planes = 1;  // bins, or summed-area tables
  guint weight_unit = 1;

  RegionQuery () = default;
  /// Clips the regions to the histogram's frame.
  RegionQuery (GstIntegralHistogram *histogram, std::span<const GstVideoRectangle> of_frame);

  std::size_t n_values () const { return regions.size () * planes; }
};

/// A query about a frame's regions, and the answer once a first consumer, such as a message or a
/// reader of a meta, has asked for it. Until then this object holds the histogram.
class RegionAnswers {
public:
  RegionAnswers (GstIntegralHistogram *histogram, std::span<const GstVideoRectangle> regions);
  RegionAnswers (RegionQuery query, std::vector<guint64> values);
  RegionAnswers (const RegionAnswers &) = delete;
  RegionAnswers &operator= (const RegionAnswers &) = delete;

  const RegionQuery asked;

  /// Returns the numbers of all regions, [region][plane]. The first caller asks the histogram while
  /// other callers wait; a CancelScope ends the waits. After an error the next caller asks again.
  Expected<std::span<const guint64>> ask ();

private:
  Expected<> ask_once ();

  CancellableMutex mutex_;  // guards all below
  HistogramRef histogram_;  // null once it has answered
  std::vector<guint64> values_;
};

void add_regions_meta (GstBuffer *buffer, std::shared_ptr<RegionAnswers> answers);

}  // namespace integralhist
