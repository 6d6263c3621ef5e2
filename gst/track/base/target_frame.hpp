// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/video/video.h>

#include <gst/integralhist/gstintegralhistogrammeta.h>
#include <gst/integralhist/meta/placed.hpp>

#include "target_box.hpp"

namespace integralhist {

/// A frame to follow targets in. Converts boxes between its pixels and those of its tensor: the
/// frame may have been scaled, cropped, bordered, mirrored or turned since.
class TargetFrame {
public:
  TargetFrame (GstBuffer *buffer, const GstIntegralHistogramMeta *meta);
  /// Makes the frame that a tensor was computed of, which nothing has changed since.
  TargetFrame (GstIntegralHistogram *tensor, GstClockTime at);

  GstIntegralHistogram *const histogram;
  const GstClockTime time;
  const int width, height;

  TargetBox in_tensor (const GstVideoRectangle &box) const;
  GstVideoRectangle in_frame (const TargetBox &box) const;

  /// Returns the part of a box in which the frame shows the tensor's; empty where there is none.
  GstVideoRectangle clip (const GstVideoRectangle &box) const;
  /// Returns that part, or the visible pixel that is nearest to the box if that part is empty.
  GstVideoRectangle nearest (const GstVideoRectangle &box) const;

private:
  const FrameGeometry geometry_;
  const GstVideoRectangle visible_;  // what the frame shows of the tensor's, in its pixels
};

/// Returns the nearest whole pixel, clamped far outside of any frame: differences stay integers.
gint whole_pixel (double at);

}  // namespace integralhist
