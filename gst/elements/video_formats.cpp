// SPDX-License-Identifier: LGPL-2.1-or-later
#include "video_formats.hpp"

#include <cmath>

namespace integralhist {
namespace {

GstVideoColorMatrix luma_matrix (const GstVideoColorimetry &colorimetry)
{
  gdouble kr, kb;
  if (gst_video_color_matrix_get_Kr_Kb (colorimetry.matrix, &kr, &kb))
    return colorimetry.matrix;
  switch (colorimetry.primaries) {
    case GST_VIDEO_COLOR_PRIMARIES_BT470M:
    case GST_VIDEO_COLOR_PRIMARIES_BT470BG:
    case GST_VIDEO_COLOR_PRIMARIES_SMPTE170M: return GST_VIDEO_COLOR_MATRIX_BT601;
    case GST_VIDEO_COLOR_PRIMARIES_SMPTE240M: return GST_VIDEO_COLOR_MATRIX_SMPTE240M;
    case GST_VIDEO_COLOR_PRIMARIES_BT2020: return GST_VIDEO_COLOR_MATRIX_BT2020;
    default: return GST_VIDEO_COLOR_MATRIX_BT709;
  }
}

}  // namespace

inthist::PixelFormat pixel_format_of (const GstVideoInfo &info)
{
  const bool rgb = GST_VIDEO_INFO_IS_RGB (&info);
  inthist::PixelFormat format;
  format.bytes = GST_VIDEO_INFO_COMP_PSTRIDE (&info, 0);
  format.channels = rgb ? 3 : 1;
  for (int c = 0; c < format.channels; c++)
    format.shift[c] = 8 * GST_VIDEO_FORMAT_INFO_POFFSET (info.finfo, c)
                      + GST_VIDEO_FORMAT_INFO_SHIFT (info.finfo, c)
                      + GST_VIDEO_FORMAT_INFO_DEPTH (info.finfo, c) - 8;
  // The format info does not place the 10-bit components: bits 0..9, 10..19 and 20..29.
  if (GST_VIDEO_INFO_FORMAT (&info) == GST_VIDEO_FORMAT_RGB10A2_LE)
    for (int c = 0; c < 3; c++)
      format.shift[c] = 10 * c + 2;
  if (GST_VIDEO_INFO_FORMAT (&info) == GST_VIDEO_FORMAT_BGR10A2_LE)
    for (int c = 0; c < 3; c++)
      format.shift[c] = 10 * (2 - c) + 2;
  if (rgb) {
    gdouble kr, kb;
    gst_video_color_matrix_get_Kr_Kb (luma_matrix (info.colorimetry), &kr, &kb);
    format.weight[0] = guint32 (std::lround (kr * 65536));
    format.weight[2] = guint32 (std::lround (kb * 65536));
    format.weight[1] = 65536 - format.weight[0] - format.weight[2];
  }
  return format;
}

}  // namespace integralhist
