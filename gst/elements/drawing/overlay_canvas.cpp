// SPDX-License-Identifier: LGPL-2.1-or-later
#include "overlay_canvas.hpp"

#include <algorithm>
#include <utility>

#include <gst/frame/video_formats.hpp>

namespace integralhist {

/// Returns the part of a picture around `place` as a separate picture, and moves `place` into that
/// part: GstVideo unpacks and packs whole rows of the picture that it blends onto.
static GstVideoFrame part_of (const GstVideoFrame &frame, GstVideoRectangle &place)
{
  constexpr int kStep = 16;  // pixels; a multiple of what a chroma sample covers in any format
  GstVideoFrame part = frame;
  const GstVideoFormatInfo *format = frame.info.finfo;
  // GstVideo would read the unused byte of formats such as BGRx as alpha; its formula for
  // premultiplied pixels ignores that byte.
  if (!GST_VIDEO_FORMAT_INFO_HAS_ALPHA (format))
    part.info.flags = GstVideoFlags (part.info.flags | GST_VIDEO_FLAG_PREMULTIPLIED_ALPHA);
  const bool is_plain =
      std::all_of (format->pixel_stride, format->pixel_stride + format->n_components,
                   [] (int bytes) { return bytes > 0; });
  if (GST_VIDEO_FORMAT_INFO_IS_COMPLEX (format) || !is_plain)
    return part;  // the pixels are not consecutive
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

/// Returns whether several rows of pixels share one row of chroma samples, such as in I420.
static bool has_shared_rows (const GstVideoFormatInfo *format)
{
  return std::any_of (format->h_sub, format->h_sub + format->n_components,
                      [] (guint shift) { return shift > 0; });
}

bool can_paint (GstVideoFormat format)
{
  const GstVideoFormatInfo *info = gst_video_format_get_info (format);
  return info->pack_func && info->unpack_func && !GST_VIDEO_FORMAT_INFO_HAS_PALETTE (info);
}

/// Returns one field of an interlaced picture, which is every second row, as a separate picture.
static GstVideoFrame field_of (const GstVideoFrame &picture, int field)
{
  GstVideoFrame part = picture;
  part.info.interlace_mode = GST_VIDEO_INTERLACE_MODE_PROGRESSIVE;
  part.info.height = (picture.info.height + 1 - field) / 2;
  for (guint p = 0; p < GST_VIDEO_FRAME_N_PLANES (&picture); p++) {
    const gint stride = GST_VIDEO_FRAME_PLANE_STRIDE (&picture, p);
    part.data[p] = static_cast<guint8 *> (picture.data[p]) + field * stride;
    part.info.stride[p] = 2 * stride;
  }
  return part;
}

/// Blends every second row of the pixels onto one field of an interlaced picture, and the others
/// onto the other field: GstVideo treats all pictures as progressive.
Expected<> SystemCanvas::blend_fields (std::span<const inthist::Argb> pixels,
                                       const GstVideoRectangle &place)
{
  for (const int field : { 0, 1 }) {
    const int first = (place.y ^ field) & 1;  // first row of the drawing in this field
    std::vector<inthist::Argb> rows;
    for (int y = first; y < place.h; y += 2) {
      const auto row = pixels.subspan (gsize (y) * gsize (place.w), gsize (place.w));
      rows.insert (rows.end (), row.begin (), row.end ());
    }
    if (rows.empty ())
      continue;
    const GstVideoFrame picture = field_of (picture_, field);
    TRY (SystemCanvas (picture).blend (
        rows, { place.x, (place.y + first) / 2, place.w, (place.h + 1 - first) / 2 }));
  }
  return {};
}

Expected<> SystemCanvas::blend (std::span<const inthist::Argb> pixels,
                                const GstVideoRectangle &place)
{
  if (has_fields (picture_) && has_shared_rows (picture_.info.finfo))
    return blend_fields (pixels, place);
  GstVideoRectangle at = place;
  GstVideoFrame part = part_of (picture_, at);
  // The const_cast is safe: GstVideo only reads the pixels, and only until this function returns.
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
  // In formats with 16 bits per component, GstVideo's sums of premultiplied pixels would exceed 32
  // bits, so the drawing is converted to straight alpha.
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
                  GST_VIDEO_INFO_NAME (&picture_.info), ": put videoconvert before this element");
  return {};
}

}  // namespace integralhist
