// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/video/video.h>

#include <gst/integralhist/gstintegralhistogrammeta.h>
#include <gst/integralhist/meta/placed.hpp>

#include "target_box.hpp"

namespace integralhist {

/// A frame in which targets are followed. Converts boxes between pixels of the frame and of the
/// tensor: the frame may have been scaled, cropped, bordered, mirrored or turned since the tensor
/// was computed.
class TargetFrame {
public:
  TargetFrame (GstBuffer *buffer, const GstIntegralHistogramMeta *meta);
  /// Describes a frame that is unchanged since `tensor` was computed from it.
  TargetFrame (GstIntegralHistogram *tensor, GstClockTime at);

  GstIntegralHistogram *const histogram;
  const GstClockTime time;
  const int width, height;

  TargetBox in_tensor (const GstVideoRectangle &box) const;
  GstVideoRectangle in_frame (const TargetBox &box) const;

  /// Returns the part of a box where the frame shows the tensor's pixels; empty if there is no such
  /// part.
  GstVideoRectangle clip (const GstVideoRectangle &box) const;
  /// Like clip (), but if that part is empty, returns the visible pixel that is nearest to the box.
  GstVideoRectangle nearest (const GstVideoRectangle &box) const;

private:
  const FrameGeometry geometry_;
  const GstVideoRectangle visible_;  // where the frame shows the tensor, in frame pixels
};

/// Rounds a coordinate to a whole pixel. Clamps it to a range far beyond any frame, so that a
/// difference of two results fits into an integer.
gint whole_pixel (double at);

}  // namespace integralhist
