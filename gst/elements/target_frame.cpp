// SPDX-License-Identifier: LGPL-2.1-or-later
#include "target_frame.hpp"

#include <algorithm>
#include <cmath>

#include <kernels/region.hpp>

namespace integralhist {

TargetFrame::TargetFrame (GstBuffer *buffer, const GstIntegralHistogramMeta *meta)
    : histogram (meta->histogram), time (GST_BUFFER_PTS (buffer)), width (int (meta->width)),
      height (int (meta->height)),
      x_scale_ (gst_integral_histogram_get_width (histogram) / double (width)),
      y_scale_ (gst_integral_histogram_get_height (histogram) / double (height))
{
}

TargetBox TargetFrame::in_tensor (const GstVideoRectangle &box) const
{
  return { box.x * x_scale_, box.y * y_scale_, box.w * x_scale_, box.h * y_scale_ };
}

GstVideoRectangle TargetFrame::in_frame (const TargetBox &box) const
{
  const gint x = whole_pixel (box.x / x_scale_), y = whole_pixel (box.y / y_scale_);
  return { x, y, std::max (1, whole_pixel ((box.x + box.width) / x_scale_) - x),
           std::max (1, whole_pixel ((box.y + box.height) / y_scale_) - y) };
}

GstVideoRectangle TargetFrame::clip (const GstVideoRectangle &box) const
{
  const inthist::Region part =
      inthist::clip ({ box.x, box.y, box.w, box.h }, inthist::Shape{ width, height });
  return { part.x, part.y, part.width, part.height };
}

gint whole_pixel (double at)
{
  constexpr double kFar = 1e9;
  return std::isnan (at) ? 0 : gint (std::lround (std::clamp (at, -kFar, kFar)));
}

}  // namespace integralhist
