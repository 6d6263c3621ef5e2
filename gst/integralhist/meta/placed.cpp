// SPDX-License-Identifier: LGPL-2.1-or-later
#include "placed.hpp"

#include <algorithm>
#include <cmath>

#include <gst/integralhist/base/error.hpp>

namespace integralhist {
namespace {

tl::unexpected<std::string> dropped_because (std::string reason)
{
  return tl::unexpected<std::string> (std::move (reason));
}

GstVideoRectangle all_of (const GstVideoInfo *info)
{
  return { 0, 0, info->width, info->height };
}

/// Returns the size and geometry of a meta's frame after a video filter has changed a frame of size
/// `in` and geometry `before` to size `out`. The error is the reason why the meta must be dropped.
inthist::Expected<Placement, std::string>
placement_after (const Placement &placed, const FrameGeometry &before, const GstVideoInfo *in,
                 const GstVideoInfo *out, const FrameStep &step)
{
  if (guint (in->width) != placed.width || guint (in->height) != placed.height)
    return dropped_because (joined ("it is of a frame of ", placed.width, "x", placed.height,
                                    ", not of ", in->width, "x", in->height));
  Placement now = { guint (out->width), guint (out->height), std::nullopt };
  const bool only_scales = !step.mirrors_columns && !step.mirrors_rows && !step.is_turned
                           && are_equal (step.in, all_of (in))
                           && are_equal (step.out, all_of (out));
  if (only_scales && !placed.geometry)
    return now;
  now.geometry = before.after (step);
  if (!now.geometry)
    return dropped_because ("nothing of it is seen, or where cannot be said exactly");
  return now;
}

#if GST_CHECK_VERSION(1, 28, 0)
/// Converts GStreamer's description of a video filter to a FrameStep. The rectangles, which are
/// integers, say where the picture lies. The matrix of floats only says how the picture is turned:
/// it maps edges, but pixels if it mirrors, so its offsets are uncertain by one pixel.
std::optional<FrameStep> step_of (const GstVideoMetaTransformMatrix &transform)
{
  const auto &m = transform.matrix;
  const GstVideoRectangle &in = transform.in_rectangle, &out = transform.out_rectangle;
  const bool is_upright = m[0][1] == 0 && m[1][0] == 0, is_turned = m[0][0] == 0 && m[1][1] == 0;
  if (is_upright == is_turned || m[2][0] != 0 || m[2][1] != 0 || m[2][2] != 1)
    return std::nullopt;
  // Returns whether the matrix maps an axis of the input to the whole output, within 1.5 pixels.
  const auto fills = [] (float scale, float offset, int in_length, int out_length) {
    const double a = offset, b = double (scale) * in_length + offset;
    return std::fabs (std::min (a, b)) < 1.5 && std::fabs (std::max (a, b) - out_length) < 1.5;
  };
  const float across = is_turned ? m[0][1] : m[0][0], down = is_turned ? m[1][0] : m[1][1];
  if (!fills (across, m[0][2], is_turned ? in.h : in.w, out.w)
      || !fills (down, m[1][2], is_turned ? in.w : in.h, out.h))
    return std::nullopt;
  return FrameStep{ in,
                    out,
                    transform.out_info->width,
                    transform.out_info->height,
                    (is_turned ? down : across) < 0,
                    (is_turned ? across : down) < 0,
                    is_turned };
}
#endif

}  // namespace

bool same_aspect (const GstVideoInfo &in, const GstVideoInfo &out)
{
  const double height = double (out.width) * in.height * in.par_d * out.par_n
                        / (double (in.width) * in.par_n * out.par_d);
  const double width = double (out.height) * in.width * in.par_n * out.par_d
                       / (double (in.height) * in.par_d * out.par_n);
  return std::abs (height - out.height) <= 1 || std::abs (width - out.width) <= 1;
}

FrameGeometry Placement::geometry_of (int original_width, int original_height) const
{
  return geometry ? *geometry
                  : FrameGeometry (int (std::max (width, 1u)), int (std::max (height, 1u)),
                                   original_width, original_height);
}

inthist::Expected<Placement, std::string> transformed (const Placement &placed, int original_width,
                                                       int original_height, GQuark type,
                                                       gpointer data)
{
  const FrameGeometry before = placed.geometry_of (original_width, original_height);
  if (GST_META_TRANSFORM_IS_COPY (type)) {
    if (static_cast<const GstMetaTransformCopy *> (data)->region)
      return dropped_because ("");  // drop the meta: a copy of some bytes is not a frame
    return placed;
  }
  if (GST_VIDEO_META_TRANSFORM_IS_SCALE (type)) {
    const auto *const scale = static_cast<const GstVideoMetaTransform *> (data);
    const GstVideoInfo *const in = scale->in_info, *const out = scale->out_info;
    if (!same_aspect (*in, *out))
      return dropped_because (joined (in->width, "x", in->height, " to ", out->width, "x",
                                      out->height,
                                      " changes the aspect ratio, so there may be borders"));
    return placement_after (placed, before, in, out,
                            { all_of (in), all_of (out), out->width, out->height });
  }
#if GST_CHECK_VERSION(1, 28, 0)
  if (GST_VIDEO_META_TRANSFORM_IS_MATRIX (type)) {
    const auto &transform = *static_cast<const GstVideoMetaTransformMatrix *> (data);
    const auto step = step_of (transform);
    if (!step)
      return dropped_because ("it is sheared, or turned by other angles than quarters");
    return placement_after (placed, before, transform.in_info, transform.out_info, *step);
  }
#endif
  return dropped_because ("");
}

}  // namespace integralhist
