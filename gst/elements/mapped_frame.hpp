// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A mapped video buffer whose planes are checked to lie in its memory. As for sinks, the frame is
// the part of the picture that GstVideoCropMeta leaves visible.
#pragma once

#include <utility>

#include <gst/video/video.h>

#include <gst/integralhist/error.hpp>

namespace integralhist {

/// Returns the frame within the buffer's picture, in pixels: what GstVideoCropMeta says, else what
/// the caps say. Returns an error where the metas contradict each other or the caps.
Expected<GstVideoRectangle> frame_area (GstBuffer *buffer, const GstVideoInfo &info);

class MappedFrame {
public:
  /// `flags` are of GstMapFlags and GstVideoFrameMapFlags.
  static Expected<MappedFrame> map (GstBuffer *buffer, const GstVideoInfo &info, int flags);
  MappedFrame (MappedFrame &&other) noexcept
      : area (other.area), video_ (std::exchange (other.video_, {}))
  {
  }
  MappedFrame &operator= (MappedFrame &&) = delete;
  ~MappedFrame ()
  {
    if (video_.buffer)
      gst_video_frame_unmap (&video_);
  }

  const GstVideoRectangle area;  // of the frame within the picture

  GstVideoFrame &video () { return video_; }
  /// Returns the first pixel of the frame in plane 0, whose pixels take `pixel_bytes`.
  const std::byte *first_pixel (int pixel_bytes) const;
  gint stride () const { return GST_VIDEO_FRAME_PLANE_STRIDE (&video_, 0); }

private:
  MappedFrame (const GstVideoRectangle &a, const GstVideoFrame &video) : area (a), video_ (video) {}

  GstVideoFrame video_;
};

/// Refuse rows past the mapped memory: of the `area` in plane 0, or of the picture in all planes.
Expected<> check_plane (const GstVideoFrame &frame, const GstVideoRectangle &area, int pixel_bytes);
Expected<> check_planes (const GstVideoFrame &frame);

}  // namespace integralhist
