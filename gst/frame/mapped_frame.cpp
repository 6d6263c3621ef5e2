// SPDX-License-Identifier: LGPL-2.1-or-later
#include "mapped_frame.hpp"

#include <algorithm>

namespace integralhist {
namespace {

template <class... Parts>
tl::unexpected<Error> bad_frame (const Parts &...why)
{
  return error (Error::Kind::bad_frame, "The frame cannot be read: ", why...,
                ". Correct the element that makes these frames");
}

Expected<> check_video_meta (const GstVideoMeta *meta, const GstVideoInfo &info)
{
  if (meta->format != GST_VIDEO_INFO_FORMAT (&info))
    return bad_frame ("its GstVideoMeta says ", gst_video_format_to_string (meta->format),
                      ", and the caps say ", GST_VIDEO_INFO_NAME (&info));
  if (meta->width < guint (GST_VIDEO_INFO_WIDTH (&info))
      || meta->height < guint (GST_VIDEO_INFO_HEIGHT (&info)))
    return bad_frame ("its GstVideoMeta says ", meta->width, "x", meta->height,
                      ", and the caps say ", info.width, "x", info.height);
  if (meta->n_planes != GST_VIDEO_INFO_N_PLANES (&info))
    return bad_frame ("its GstVideoMeta says ", meta->n_planes, " planes, and ",
                      GST_VIDEO_INFO_NAME (&info), " has ", GST_VIDEO_INFO_N_PLANES (&info));
  return {};
}

/// A rectangle of bytes in a plane of a picture: `rows` rows from row `first_row` on, and in each
/// of these rows `bytes` bytes from byte `first` on.
struct Rows {
  gint64 first_row, rows, first, bytes;
};

Expected<> check_rows (const GstVideoFrame &frame, guint plane, const Rows &r)
{
  const bool mapped_apart = frame.meta;  // with a GstVideoMeta, each plane has its own mapping
  const GstMapInfo &map = frame.map[mapped_apart ? plane : 0];
  const gint64 stride = GST_VIDEO_FRAME_PLANE_STRIDE (&frame, plane);
  const gint64 start =
      static_cast<const guint8 *> (GST_VIDEO_FRAME_PLANE_DATA (&frame, plane)) - map.data;
  const gint64 one = start + r.first_row * stride,
               other = start + (r.first_row + r.rows - 1) * stride;
  if (std::min (one, other) + r.first >= 0
      && std::max (one, other) + r.first + r.bytes <= gint64 (map.size))
    return {};
  return bad_frame ("plane ", plane, " begins at byte ", start, " with rows ", stride,
                    " bytes apart, and reaches past the ", map.size,
                    " bytes of its memory; every plane must lie in one memory");
}

}  // namespace

Expected<GstVideoRectangle> frame_area (GstBuffer *buffer, const FrameFormat &format)
{
  const GstVideoInfo &info = format.info;
  const GstVideoMeta *const meta =
      format.memory == FrameMemory::nvmm ? nullptr : gst_buffer_get_video_meta (buffer);
  if (meta)
    TRY (check_video_meta (meta, info));
  const GstVideoRectangle all = { 0, 0, GST_VIDEO_INFO_WIDTH (&info),
                                  GST_VIDEO_INFO_HEIGHT (&info) };
  const GstVideoCropMeta *const crop = gst_buffer_get_video_crop_meta (buffer);
  if (!crop)
    return all;
  const gint64 width = meta ? meta->width : all.w, height = meta ? meta->height : all.h;
  if (crop->width < 1 || crop->height < 1 || gint64 (crop->x) + crop->width > width
      || gint64 (crop->y) + crop->height > height)
    return bad_frame ("its GstVideoCropMeta leaves ", crop->width, "x", crop->height, " at ",
                      crop->x, ",", crop->y, ", which do not lie in the picture of ", width, "x",
                      height);
  return GstVideoRectangle{ gint (crop->x), gint (crop->y), gint (crop->width),
                            gint (crop->height) };
}

Expected<MappedFrame> MappedFrame::map (const NvmmSurface &surface, const GstVideoInfo &info,
                                        GstBuffer *buffer, const GstVideoRectangle &area)
{
  GstVideoFrame video = {};
  video.info = info;
  video.buffer = buffer;
  video.map[0].data = reinterpret_cast<guint8 *> (surface.data);
  video.map[0].size = surface.bytes;
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (&info); p++) {
    video.info.offset[p] = surface.planes[p].offset;
    video.info.stride[p] = gint (surface.planes[p].stride);
    video.data[p] = surface.data + surface.planes[p].offset;
  }
  TRY (check_planes (video));
  return MappedFrame (area, video, surface);
}

Expected<MappedFrame> MappedFrame::map (const NvmmSurface &surface, const GstVideoInfo &info)
{
  return map (surface, info, nullptr,
              { 0, 0, GST_VIDEO_INFO_WIDTH (&info), GST_VIDEO_INFO_HEIGHT (&info) });
}

Expected<MappedFrame> MappedFrame::map (GstBuffer *buffer, const FrameFormat &format, int flags)
{
  const GstVideoRectangle area = TRY (frame_area (buffer, format));
  if (format.memory == FrameMemory::nvmm)
    return map (TRY (nvmm_surface_of (buffer, format.info)), format.info, buffer, area);
  const GstVideoInfo &info = format.info;
  GstVideoFrame video;
  GstVideoInfo caps = info;
  if (!gst_video_frame_map (&video, &caps, buffer,
                            GstMapFlags (flags | int (GST_VIDEO_FRAME_MAP_FLAG_NO_REF))))
    return bad_frame ("its buffer of ", gst_buffer_get_size (buffer),
                      " bytes could not be mapped; ", GST_VIDEO_INFO_NAME (&info), " of ",
                      info.width, "x", info.height, " has ", GST_VIDEO_INFO_SIZE (&info),
                      " with rows of ", GST_VIDEO_INFO_PLANE_STRIDE (&info, 0),
                      " bytes, and other strides need a GstVideoMeta");
  return MappedFrame (area, video);
}

Expected<inthist::Image> MappedFrame::image (const inthist::PixelFormat &format) const
{
  inthist::Image image = { .data = nullptr, .stride = 0, .format = format, .rows = area.h };
  gint x = area.x, y = area.y;
  if (format.reads_colours ()) {  // moves the image's corner to a whole chroma sample
    if (!has_fields (video_))
      for (inthist::Channel &channel : image.format.channel)
        channel.interlaced = false;
    image.left = x & 1, image.top = y & (image.format.is_interlaced () ? 3 : 1);
    x -= image.left, y -= image.top;
  }
  gint64 first_row[3] = {}, first[3] = {};
  for (int p = 0; p < format.n_planes; p++) {
    const auto *channel = std::ranges::find_if (
        image.format.channel, [p] (const auto &c) { return c.bytes > 0 && c.plane == p; });
    const bool found = channel != std::end (image.format.channel);
    first_row[p] = found ? channel->row_of (y) : y;
    first[p] = gint64 (x >> (found ? channel->log2_subsample_x : 0))
               * (found ? channel->step : format.bytes);
    const gint stride = GST_VIDEO_FRAME_PLANE_STRIDE (&video_, p);
    const auto *const data =
        static_cast<const std::byte *> (GST_VIDEO_FRAME_PLANE_DATA (&video_, p))
        + first_row[p] * stride + first[p];
    if (p == 0)
      image.data = data, image.stride = stride;
    else
      image.chroma[p - 1] = { data, stride };
  }
  const PicturePlanes planes (image, area.w, area.h);
  for (int p = 0; p < format.n_planes; p++)
    TRY (check_rows (
        video_, guint (p),
        { first_row[p], planes.all ()[p].n, first[p], gint64 (planes.all ()[p].bytes) }));
  return image;
}

/// Returns an error if the samples of a plane are unaligned, or if rows are stored from the bottom
/// up: GStreamer's converters crash on such pictures.
static Expected<> check_words (const GstVideoFrame &frame, guint plane, gint pixel)
{
  const gint word = pixel & -pixel, stride = GST_VIDEO_FRAME_PLANE_STRIDE (&frame, plane);
  if (stride >= 0 && stride % word == 0
      && reinterpret_cast<guintptr> (GST_VIDEO_FRAME_PLANE_DATA (&frame, plane)) % guint (word)
             == 0)
    return {};
  return bad_frame ("plane ", plane, " has rows ", stride, " bytes apart, and pixels of ", pixel,
                    " bytes need a positive multiple of ", word,
                    " for this and for their first byte");
}

/// Returns how many rows a component, such as luma, has in its plane. In an interlaced picture each
/// field has separate rows, which may be one more in total than the format says.
static gint64 rows_of (const GstVideoFrame &frame, guint component)
{
  const inthist::Channel rows = { .log2_subsample_y = guint8 (
                                      GST_VIDEO_FORMAT_INFO_H_SUB (frame.info.finfo, component)),
                                  .interlaced = has_fields (frame) };
  return rows.rows_of (GST_VIDEO_FRAME_HEIGHT (&frame));
}

Expected<> check_planes (const GstVideoFrame &frame)
{
  const GstVideoFormatInfo *const format = frame.info.finfo;
  if (GST_VIDEO_FORMAT_INFO_IS_TILED (format))
    return {};  // strides count tiles
  GstVideoInfo usual;
  gst_video_info_set_format (&usual, GST_VIDEO_FORMAT_INFO_FORMAT (format),
                             guint (frame.info.width), guint (frame.info.height));
  for (guint c = 0; c < GST_VIDEO_FORMAT_INFO_N_COMPONENTS (format); c++) {
    const guint plane = GST_VIDEO_FORMAT_INFO_PLANE (format, c);
    const gint64 pixel = GST_VIDEO_FORMAT_INFO_PSTRIDE (format, c);
    const gint64 width = GST_VIDEO_FRAME_COMP_WIDTH (&frame, c), height = rows_of (frame, c);
    const gint64 sample = (GST_VIDEO_FORMAT_INFO_DEPTH (format, c) + 7) / 8;
    if (GST_VIDEO_FORMAT_INFO_IS_COMPLEX (format) || pixel <= 0)  // pixels are not consecutive
      TRY (
          check_rows (frame, plane, { 0, height, 0, GST_VIDEO_INFO_PLANE_STRIDE (&usual, plane) }));
    else {
      TRY (check_words (frame, plane, gint (pixel)));
      TRY (check_rows (
          frame, plane,
          { 0, height, GST_VIDEO_FORMAT_INFO_POFFSET (format, c), (width - 1) * pixel + sample }));
    }
  }
  return {};
}

}  // namespace integralhist
