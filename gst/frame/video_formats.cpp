// SPDX-License-Identifier: LGPL-2.1-or-later
#include "video_formats.hpp"

#include <algorithm>
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

/// The factors of red and blue in luma (Kr and Kb), by the colorimetry of the video.
struct Shares {
  gdouble red, blue;

  static Shares of (const GstVideoColorimetry &colorimetry)
  {
    Shares shares;
    gst_video_color_matrix_get_Kr_Kb (luma_matrix (colorimetry), &shares.red, &shares.blue);
    return shares;
  }
  gdouble green () const { return 1 - red - blue; }
};

/// Returns whether the three components of a pixel are bits 0..9, 10..19 and 20..29 of a 32-bit
/// word, which GstVideoFormatInfo does not say.
bool has_10_bits_of_32 (const GstVideoInfo &info)
{
  return GST_VIDEO_INFO_FORMAT (&info) == GST_VIDEO_FORMAT_RGB10A2_LE
         || GST_VIDEO_INFO_FORMAT (&info) == GST_VIDEO_FORMAT_BGR10A2_LE;
}

int shift_of (const GstVideoInfo &info, int component)
{
  if (has_10_bits_of_32 (info)) {
    const bool bgr = GST_VIDEO_INFO_FORMAT (&info) == GST_VIDEO_FORMAT_BGR10A2_LE;
    return 10 * (bgr ? 2 - component : component) + 2;
  }
  return GST_VIDEO_FORMAT_INFO_SHIFT (info.finfo, component)
         + GST_VIDEO_FORMAT_INFO_DEPTH (info.finfo, component) - 8;
}

inthist::Channel channel_of (const GstVideoInfo &info, int component)
{
  const GstVideoFormatInfo *const format = info.finfo;
  const bool packed = has_10_bits_of_32 (info);
  const int words = GST_VIDEO_FORMAT_INFO_DEPTH (format, component) > 8 ? 2 : 1;
  int offset = packed ? 0 : GST_VIDEO_FORMAT_INFO_POFFSET (format, component);
  if (words == 2 && offset % 2 == 1)
    // GStreamer 1.22 gives the offset of Cr in P010_10LE and P016_LE in 16-bit words, not in bytes.
    offset *= 2;
  return { .plane = guint8 (GST_VIDEO_FORMAT_INFO_PLANE (format, component)),
           .bytes = guint8 (packed ? 4 : words),
           .step = guint8 (GST_VIDEO_FORMAT_INFO_PSTRIDE (format, component)),
           .offset = guint8 (offset),
           .shift = guint8 (shift_of (info, component)),
           .log2_subsample_x = guint8 (GST_VIDEO_FORMAT_INFO_W_SUB (format, component)),
           .log2_subsample_y = guint8 (GST_VIDEO_FORMAT_INFO_H_SUB (format, component)),
           .interlaced = GST_VIDEO_INFO_IS_INTERLACED (&info)
                         && GST_VIDEO_FORMAT_INFO_H_SUB (format, component) > 0 };
}

using Factors = gdouble[3][3];

/// Makes a colour transform: subtracts `before`, multiplies by `factors`, and adds `after`.
inthist::ColourTransform transform_of (const Factors &factors, const gdouble (&before)[3],
                                       const gdouble (&after)[3])
{
  constexpr gdouble kOne = 1 << inthist::ColourTransform::kBits;
  inthist::ColourTransform transform = { .is_identity = false };
  for (int i = 0; i < 3; i++) {
    gdouble offset = after[i] + 0.5;
    for (int c = 0; c < 3; c++) {
      transform.factor[i][c] = gint32 (std::lround (factors[i][c] * kOne));
      offset -= transform.factor[i][c] / kOne * before[c];
    }
    transform.offset[i] = gint32 (std::lround (offset * kOne));
  }
  return transform;
}

inthist::ColourTransform rgb_of_ycbcr (const GstVideoInfo &info)
{
  const Shares shares = Shares::of (info.colorimetry);
  const bool full = info.colorimetry.range == GST_VIDEO_COLOR_RANGE_0_255;
  const gdouble y = full ? 1 : 255 / 219.0, c = full ? 1 : 255 / 224.0;
  const gdouble from_cr = 2 * (1 - shares.red) * c, from_cb = 2 * (1 - shares.blue) * c;
  const Factors factors = { { y, 0, from_cr },
                            { y, -from_cb * shares.blue / shares.green (),
                              -from_cr * shares.red / shares.green () },
                            { y, from_cb, 0 } };
  return transform_of (factors, { full ? 0.0 : 16.0, 128, 128 }, { 0, 0, 0 });
}

inthist::ColourTransform ycbcr_of_rgb (const GstVideoInfo &info)
{
  const Shares shares = Shares::of (info.colorimetry);
  const gdouble cb = 0.5 / (1 - shares.blue), cr = 0.5 / (1 - shares.red);
  const Factors factors = { { shares.red, shares.green (), shares.blue },
                            { -shares.red * cb, -shares.green () * cb, (1 - shares.blue) * cb },
                            { (1 - shares.red) * cr, -shares.green () * cr, -shares.blue * cr } };
  return transform_of (factors, { 0, 0, 0 }, { 0, 128, 128 });
}

}  // namespace

FrameMemory memory_of (const GstCaps *caps)
{
  if (is_nvmm (caps))
    return FrameMemory::nvmm;
  const bool is_cuda =
      gst_caps_get_size (caps) > 0
      && gst_caps_features_contains (gst_caps_get_features (caps, 0), "memory:CUDAMemory");
  return is_cuda ? FrameMemory::cuda : FrameMemory::system;
}

Expected<FrameFormat> frame_format_of (GstCaps *caps)
{
  GstVideoInfo info;
  if (!gst_video_info_from_caps (&info, caps)) {
    g_autofree char *text = gst_caps_to_string (caps);
    return error (Error::Kind::bad_setting, "The caps are not raw video: ", text,
                  ". Put a decoder before this element");
  }
  switch (GST_VIDEO_INFO_INTERLACE_MODE (&info)) {
    case GST_VIDEO_INTERLACE_MODE_PROGRESSIVE:
    case GST_VIDEO_INTERLACE_MODE_INTERLEAVED:
    case GST_VIDEO_INTERLACE_MODE_MIXED: return FrameFormat{ info, memory_of (caps) };
    default:
      return error (Error::Kind::bad_setting, "interlace-mode=",
                    gst_video_interlace_mode_to_string (GST_VIDEO_INFO_INTERLACE_MODE (&info)),
                    " has the fields of a frame apart. Frames must be progressive, interleaved or "
                    "mixed: put an element such as deinterlace before this one");
  }
}

bool has_fields (const GstVideoFrame &picture)
{
  const auto mode = GST_VIDEO_INFO_INTERLACE_MODE (&picture.info);
  return mode == GST_VIDEO_INTERLACE_MODE_INTERLEAVED
         || (mode == GST_VIDEO_INTERLACE_MODE_MIXED && picture.buffer
             && GST_BUFFER_FLAG_IS_SET (picture.buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED));
}

inthist::PixelFormat pixel_format_of (const GstVideoInfo &info, const HistogramSpec &spec, int bins)
{
  const inthist::FeatureInfo &feature = inthist::info_of (spec.feature);
  const bool rgb = GST_VIDEO_INFO_IS_RGB (&info);
  inthist::PixelFormat format;
  format.bytes = GST_VIDEO_INFO_COMP_PSTRIDE (&info, 0);
  format.channels = rgb ? 3 : 1;
  for (int c = 0; c < format.channels; c++)
    format.shift[c] =
        shift_of (info, c)
        + (has_10_bits_of_32 (info) ? 0 : 8 * GST_VIDEO_FORMAT_INFO_POFFSET (info.finfo, c));
  if (rgb) {
    const Shares shares = Shares::of (info.colorimetry);
    format.weight[0] = guint32 (std::lround (shares.red * 65536));
    format.weight[2] = guint32 (std::lround (shares.blue * 65536));
    format.weight[1] = 65536 - format.weight[0] - format.weight[2];
  }
  format.feature = spec.feature;
  format.quantization = spec.quantization;
  if (feature.is_gradient)
    format.quantization[0] = guint8 (bins);
  format.pixel_weight = spec.weight;
  if (spec.soft)
    format.soft = inthist::SoftBins::of (spec.feature, bins);
  if (!format.reads_colours ())
    return format;
  format.n_planes = int (GST_VIDEO_INFO_N_PLANES (&info));
  for (int c = 0; c < std::min (3, int (GST_VIDEO_INFO_N_COMPONENTS (&info))); c++)
    format.channel[c] = channel_of (info, c);
  const bool wants_rgb = feature.reads == inthist::Reads::rgb;
  if (rgb != wants_rgb)
    format.transform = wants_rgb ? rgb_of_ycbcr (info) : ycbcr_of_rgb (info);
  return format;
}

inthist::Canvas canvas_of (const GstVideoFrame &picture)
{
  const GstVideoFormatInfo *const format = picture.info.finfo;
  inthist::Canvas canvas = { .width = GST_VIDEO_FRAME_WIDTH (&picture),
                             .height = GST_VIDEO_FRAME_HEIGHT (&picture),
                             .is_rgb = bool (GST_VIDEO_FORMAT_INFO_IS_RGB (format)),
                             .has_alpha = bool (GST_VIDEO_FORMAT_INFO_HAS_ALPHA (format)) };
  for (guint p = 0; p < GST_VIDEO_FRAME_N_PLANES (&picture); p++) {
    canvas.planes[p] = static_cast<guint8 *> (GST_VIDEO_FRAME_PLANE_DATA (&picture, p));
    canvas.strides[p] = GST_VIDEO_FRAME_PLANE_STRIDE (&picture, p);
  }
  for (guint c = 0; c < GST_VIDEO_FORMAT_INFO_N_COMPONENTS (format); c++) {
    canvas.samples[c] = { channel_of (picture.info, int (c)),
                          guint8 (GST_VIDEO_FORMAT_INFO_DEPTH (format, c)) };
    canvas.samples[c].at.interlaced = canvas.samples[c].at.interlaced && has_fields (picture);
  }
  return canvas;
}

/// Returns an error for users if the caps of a video are not among those that an element reads.
static Expected<> check_caps (const GstCaps *caps, const GstCaps *readable, const char *element)
{
  if (gst_caps_is_empty (caps) || gst_caps_can_intersect (caps, readable))
    return {};
  const GstStructure *const video = gst_caps_get_structure (caps, 0);
  const char *const format = gst_structure_get_string (video, "format");
  g_autofree gchar *memory = gst_caps_features_to_string (gst_caps_get_features (caps, 0));
  const bool in_system = g_str_equal (memory, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY),
             in_cuda = memory_of (caps) == FrameMemory::cuda;
  return error (Error::Kind::bad_frame, element, " takes no ", gst_structure_get_name (video),
                format ? joined (" in the format ", format) : "",
                in_system ? "" : joined (" in ", memory), ": put ",
                in_system        ? "videoconvert"
                : in_cuda        ? "cudaconvert, or cudadownload and videoconvert,"
                : is_nvmm (caps) ? "nvvideoconvert"
                                 : "an element that copies it to system memory, and videoconvert,",
                " before it");
}

GstCaps *caps_of (inthist::Feature feature)
{
  const char *const format = inthist::info_of (feature).format;
  if (!format)
    return nullptr;
  GstCaps *const caps =
      gst_caps_new_simple ("video/x-raw", "format", G_TYPE_STRING, format, nullptr);
  gst_caps_set_features (caps, 0, gst_caps_features_new_any ());
  return caps;
}

Expected<> check_caps (const GstCaps *caps, inthist::Feature feature)
{
  const inthist::FeatureInfo &info = inthist::info_of (feature);
  g_autoptr (GstCaps) taken = caps_of (feature);
  if (!taken || gst_caps_is_empty (caps) || gst_caps_can_intersect (caps, taken))
    return {};
  const char *const other = gst_structure_get_string (gst_caps_get_structure (caps, 0), "format");
  return error (Error::Kind::bad_setting, "feature=", info.nick, " counts ", info.format,
                " pixels, not ", other ? other : "what upstream has",
                ": let upstream give video/x-raw,format=", info.format);
}

void probe_caps (GstPad *sink, TakeCaps take)
{
  const auto probe = [] (GstPad *pad, GstPadProbeInfo *info, gpointer take) {
    GstEvent *const event = GST_PAD_PROBE_INFO_EVENT (info);
    g_autoptr (GstElement) element = gst_pad_get_parent_element (pad);
    if (element && GST_EVENT_TYPE (event) == GST_EVENT_CAPS) {
      GstCaps *caps = nullptr;
      gst_event_parse_caps (event, &caps);
      g_autoptr (GstCaps) readable = gst_pad_get_pad_template_caps (pad);
      reinterpret_cast<TakeCaps> (take) (element, caps,
                                         check_caps (caps, readable, GST_OBJECT_NAME (element)));
    }
    return GST_PAD_PROBE_OK;
  };
  gst_pad_add_probe (sink, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, probe,
                     reinterpret_cast<gpointer> (take), nullptr);
}

}  // namespace integralhist
