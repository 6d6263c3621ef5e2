// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Maps a video buffer, and checks that the planes lie in the buffer's memory. As in GStreamer's
// sinks, the frame is the part of the picture that GstVideoCropMeta leaves visible.
#pragma once

#include <optional>
#include <utility>

#include <gst/video/video.h>

#include <gst/integralhist/base/error.hpp>
#include <gst/integralhist/engine/picture_planes.hpp>

#include "nvmm_surface.hpp"
#include "video_formats.hpp"

namespace integralhist {

/// Returns the rectangle of a buffer's picture that is the frame, in pixels: by GstVideoCropMeta,
/// or else all of it. Returns an error if the metas contradict each other or the caps.
Expected<GstVideoRectangle> frame_area (GstBuffer *buffer, const FrameFormat &format);

/// Returns whether a buffer has a picture. A buffer marked as a gap may have no bytes, but the
/// frames that videorate and livesync repeat are marked as gaps and have a picture.
inline bool has_picture (GstBuffer *buffer)
{
  return !GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_GAP) || gst_buffer_get_size (buffer) > 0;
}

class MappedFrame {
public:
  /// Maps the frame of a buffer, which must live longer than the mapped frame. `flags` has values
  /// of GstMapFlags. The pixels of an NVMM frame may lie in GPU memory; surface () says so.
  static Expected<MappedFrame> map (GstBuffer *buffer, const FrameFormat &format, int flags);
  /// Returns a mapped frame that covers a whole NVMM surface for which there is no buffer.
  static Expected<MappedFrame> map (const NvmmSurface &surface, const GstVideoInfo &info);
  MappedFrame (MappedFrame &&other) noexcept
      : area (other.area), surface_ (other.surface_), video_ (std::exchange (other.video_, {}))
  {
  }
  MappedFrame &operator= (MappedFrame &&) = delete;
  ~MappedFrame ()
  {
    if (video_.buffer && !surface_)
      gst_video_frame_unmap (&video_);
  }

  const GstVideoRectangle area;  // the frame within the picture

  GstVideoFrame &video () { return video_; }
  const std::optional<NvmmSurface> &surface () const { return surface_; }
  /// Returns the frame as an inthist::Image, from which kernels read the feature of `format`.
  /// Returns an error if a row lies outside the mapped memory.
  Expected<inthist::Image> image (const inthist::PixelFormat &format) const;

private:
  MappedFrame (const GstVideoRectangle &a, const GstVideoFrame &video,
               const std::optional<NvmmSurface> &surface = {})
      : area (a), surface_ (surface), video_ (video)
  {
  }
  static Expected<MappedFrame> map (const NvmmSurface &surface, const GstVideoInfo &info,
                                    GstBuffer *buffer, const GstVideoRectangle &area);

  std::optional<NvmmSurface> surface_;
  GstVideoFrame video_;
};

/// Refuses a mapped picture whose rows lie outside the memory, unaligned or from the bottom up.
Expected<> check_planes (const GstVideoFrame &frame);

}  // namespace integralhist
