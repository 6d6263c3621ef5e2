// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/video/video.h>

#include <gst/integralhist/gstintegralhistogrammeta.h>
#include <gst/integralhist/meta/placed.hpp>

#include "target_box.hpp"

namespace integralhist {

/// A video frame in which targets are followed. Converts boxes between pixels of the frame and of
/// its tensor: the frame may have been scaled, cropped, bordered, mirrored or turned since the
/// tensor was computed.
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

  /// Returns the part of a box that shows pixels of the tensor; empty if there is none.
  GstVideoRectangle clip (const GstVideoRectangle &box) const;
  /// Returns the part of a box that clip () returns, or else the visible pixel nearest to the box.
  GstVideoRectangle nearest (const GstVideoRectangle &box) const;

private:
  const FrameGeometry geometry_;
  const GstVideoRectangle visible_;  // the part of the frame that shows the tensor
};

/// Rounds a coordinate to a whole pixel, and clamps it to a range far beyond any frame, so that the
/// difference of two rounded coordinates fits into an integer.
gint round_to_pixel (double at);

/// Returns the seconds from one time to a later one; 0 if a time is unknown.
inline double seconds_between (GstClockTime from, GstClockTime to)
{
  return GST_CLOCK_TIME_IS_VALID (to) && to > from ? double (to - from) / GST_SECOND : 0;
}

}  // namespace integralhist
