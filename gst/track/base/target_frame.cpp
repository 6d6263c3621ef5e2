// SPDX-License-Identifier: LGPL-2.1-or-later
#include "target_frame.hpp"

#include <algorithm>
#include <cmath>

#include <kernels/region.hpp>

namespace integralhist {

TargetFrame::TargetFrame (GstBuffer *buffer, const GstIntegralHistogramMeta *meta)
    : histogram (meta->histogram), time (GST_BUFFER_PTS (buffer)), width (int (meta->width)),
      height (int (meta->height)), geometry_ (geometry_of (meta)),
      visible_ (shows_all (meta) ? GstVideoRectangle{ 0, 0, width, height }
                                 : geometry_.in_frame (geometry_.visible ()))
{
}

TargetFrame::TargetFrame (GstIntegralHistogram *tensor, GstClockTime at)
    : histogram (tensor), time (at), width (int (gst_integral_histogram_get_width (tensor))),
      height (int (gst_integral_histogram_get_height (tensor))),
      geometry_ (width, height, width, height), visible_{ 0, 0, width, height }
{
}

TargetBox TargetFrame::in_tensor (const GstVideoRectangle &box) const
{
  const auto [left, top, right, bottom] = geometry_.in_original (FrameGeometry::Edges{
      double (box.x), double (box.y), double (box.x) + box.w, double (box.y) + box.h });
  return { left, top, right - left, bottom - top };
}

GstVideoRectangle TargetFrame::in_frame (const TargetBox &box) const
{
  const auto [left, top, right, bottom] = geometry_.in_frame (
      FrameGeometry::Edges{ box.x, box.y, box.x + box.width, box.y + box.height });
  const gint x = round_to_pixel (left), y = round_to_pixel (top);
  return { x, y, std::max (1, round_to_pixel (right) - x),
           std::max (1, round_to_pixel (bottom) - y) };
}

GstVideoRectangle TargetFrame::clip (const GstVideoRectangle &box) const
{
  const inthist::Region part =
      inthist::clip_at (gint64 (box.x) - visible_.x, gint64 (box.y) - visible_.y, box.w, box.h,
                        inthist::Shape{ visible_.w, visible_.h });
  if (part.width == 0)
    return {};
  return { part.x + visible_.x, part.y + visible_.y, part.width, part.height };
}

GstVideoRectangle TargetFrame::nearest (const GstVideoRectangle &box) const
{
  const GstVideoRectangle part = clip (box);
  if (part.w > 0 || visible_.w <= 0 || visible_.h <= 0)
    return part;
  return { std::clamp (box.x, visible_.x, visible_.x + visible_.w - 1),
           std::clamp (box.y, visible_.y, visible_.y + visible_.h - 1), 1, 1 };
}

gint round_to_pixel (double at)
{
  constexpr double kFar = 1e9;
  return std::isnan (at) ? 0 : gint (std::lround (std::clamp (at, -kFar, kFar)));
}

}  // namespace integralhist
