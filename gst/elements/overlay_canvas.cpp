// SPDX-License-Identifier: LGPL-2.1-or-later
#include "overlay_canvas.hpp"

#include <algorithm>
#include <utility>

namespace integralhist {
namespace {

/// The part of the picture around a place as a picture of its own, and the place in it: blending
/// unpacks and packs whole rows of what it blends to.
GstVideoFrame part_of (const GstVideoFrame &frame, GstVideoRectangle &place)
{
  constexpr int kStep = 16;  // a multiple of what the samples of any chroma plane cover
  GstVideoFrame part = frame;
  const GstVideoFormatInfo *format = frame.info.finfo;
  // an unused byte would be taken for alpha, which the formula for premultiplied pixels does not
  // look at
  if (!GST_VIDEO_FORMAT_INFO_HAS_ALPHA (format))
    part.info.flags = GstVideoFlags (part.info.flags | GST_VIDEO_FLAG_PREMULTIPLIED_ALPHA);
  const bool is_plain =
      std::all_of (format->pixel_stride, format->pixel_stride + format->n_components,
                   [] (int bytes) { return bytes > 0; });
  if (GST_VIDEO_FORMAT_INFO_IS_COMPLEX (format) || !is_plain)
    return part;  // its pixels are not one after another
  const int x = place.x / kStep * kStep, y = place.y / kStep * kStep;
  for (guint p = 0; p < GST_VIDEO_FORMAT_INFO_N_PLANES (format); p++)
    for (guint c = 0; c < GST_VIDEO_FORMAT_INFO_N_COMPONENTS (format); c++)
      if (GST_VIDEO_FORMAT_INFO_PLANE (format, c) == p) {
        part.data[p] = static_cast<guint8 *> (frame.data[p])
                       + gssize (y >> GST_VIDEO_FORMAT_INFO_H_SUB (format, c))
                             * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, p)
                       + gssize (x >> GST_VIDEO_FORMAT_INFO_W_SUB (format, c))
                             * GST_VIDEO_FORMAT_INFO_PSTRIDE (format, c);
        break;
      }
  const auto up = [] (int n) { return (n + kStep - 1) / kStep * kStep; };
  part.info.width = std::min (up (place.x + place.w), frame.info.width) - x;
  part.info.height = std::min (up (place.y + place.h), frame.info.height) - y;
  place.x -= x;
  place.y -= y;
  return part;
}

}  // namespace

bool can_paint (GstVideoFormat format)
{
  const GstVideoFormatInfo *info = gst_video_format_get_info (format);
  return info->pack_func && info->unpack_func && !GST_VIDEO_FORMAT_INFO_HAS_PALETTE (info);
}

Expected<> SystemCanvas::blend (std::span<const inthist::Argb> pixels,
                                const GstVideoRectangle &place)
{
  GstVideoRectangle at = place;
  GstVideoFrame part = part_of (picture_, at);
  // GstVideo reads the pixels only, and while this function runs
  g_autoptr (GstBuffer) buffer = gst_buffer_new_wrapped_full (
      GST_MEMORY_FLAG_READONLY, const_cast<inthist::Argb *> (pixels.data ()), pixels.size_bytes (),
      0, pixels.size_bytes (), nullptr, nullptr);
  gst_buffer_add_video_meta (buffer, GST_VIDEO_FRAME_FLAG_NONE,
                             GST_VIDEO_OVERLAY_COMPOSITION_FORMAT_RGB, guint (at.w), guint (at.h));
  const auto rectangle_of = [&] (GstBuffer *of, GstVideoOverlayFormatFlags flags) {
    return gst_video_overlay_rectangle_new_raw (of, at.x, at.y, guint (at.w), guint (at.h), flags);
  };
  g_autoptr (GstVideoOverlayRectangle) rectangle =
      rectangle_of (buffer, GST_VIDEO_OVERLAY_FORMAT_FLAG_PREMULTIPLIED_ALPHA);
  // GstVideo's sums of premultiplied pixels pass 32 bits here
  const GstVideoFormatInfo *format = picture_.info.finfo,
                           *unpacked = gst_video_format_get_info (format->unpack_format);
  if (GST_VIDEO_FORMAT_INFO_IS_RGB (format) && GST_VIDEO_FORMAT_INFO_HAS_ALPHA (format)
      && GST_VIDEO_FORMAT_INFO_BITS (unpacked) == 16) {
    GstBuffer *straight = gst_video_overlay_rectangle_get_pixels_unscaled_argb (
        rectangle, GST_VIDEO_OVERLAY_FORMAT_FLAG_NONE);
    GstVideoOverlayRectangle *premultiplied =
        std::exchange (rectangle, rectangle_of (straight, GST_VIDEO_OVERLAY_FORMAT_FLAG_NONE));
    gst_video_overlay_rectangle_unref (premultiplied);
  }
  g_autoptr (GstVideoOverlayComposition) composition =
      gst_video_overlay_composition_new (rectangle);
  if (!gst_video_overlay_composition_blend (composition, &part))
    return error (Error::Kind::failed, "GstVideo cannot blend to ",
                  GST_VIDEO_INFO_NAME (&picture_.info));
  return {};
}

}  // namespace integralhist
