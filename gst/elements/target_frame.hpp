// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/integralhist/gstintegralhistogrammeta.h>
#include <gst/video/video.h>

#include "fragments_tracker.hpp"

namespace integralhist {

/// A frame to follow targets in. Converts boxes between its pixels and those of its tensor, which
/// may have another size.
class TargetFrame {
public:
  TargetFrame (GstBuffer *buffer, const GstIntegralHistogramMeta *meta);

  GstIntegralHistogram *const histogram;
  const GstClockTime time;
  const int width, height;

  TargetBox in_tensor (const GstVideoRectangle &box) const;
  GstVideoRectangle in_frame (const TargetBox &box) const;

  /// Returns the part of a box inside the frame; empty where there is none.
  GstVideoRectangle clip (const GstVideoRectangle &box) const;

private:
  const double x_scale_, y_scale_;  // pixels of the tensor for one of the frame
};

/// Returns the nearest whole pixel, clamped far outside of any frame: differences stay integers.
gint whole_pixel (double at);

}  // namespace integralhist
