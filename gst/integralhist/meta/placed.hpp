// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How the frame that carries a meta shows the frame for which the meta was computed, after
// GStreamer elements have scaled, cropped or turned the frame.
#pragma once

#include <optional>
#include <string>

#include <kernels/expected.hpp>

#include <gst/integralhist/gstintegralhistogrammeta.h>

#include "frame_geometry.hpp"

namespace integralhist {

/// The size of the frame that carries a meta, and the frame's geometry, which is null if the frame
/// shows the whole original frame, upright and at most scaled.
struct Placement {
  guint width, height;
  std::optional<FrameGeometry> geometry;

  FrameGeometry geometry_of (int original_width, int original_height) const;
};

/// Returns whether two frame sizes have the same aspect ratio. If scaling changes the ratio, the
/// scaler may have added borders, which it does not report.
bool same_aspect (const GstVideoInfo &in, const GstVideoInfo &out);

/// Returns the size and geometry of a meta's frame after GStreamer has copied or changed the frame,
/// as `type` and `data` of a GstMetaTransformFunction say. The original size is that of the frame
/// that was computed. If the meta must be dropped, the error is the reason, or empty.
inthist::Expected<Placement, std::string> transformed (const Placement &placed, int original_width,
                                                       int original_height, GQuark type,
                                                       gpointer data);

FrameGeometry geometry_of (const GstIntegralHistogramMeta *meta);
/// Returns whether the frame that carries a meta shows the whole frame that was computed, upright
/// and without borders.
inline bool shows_all (const GstIntegralHistogramMeta *meta)
{
  return !meta->geometry;
}

/// Returns a buffer's first histogram meta that `is_wanted` accepts, or null. Skips histograms of a
/// frame that was cropped later, because the visible pixels differ from the computed ones.
template <class IsWanted>
GstIntegralHistogramMeta *find_meta (GstBuffer *buffer, IsWanted &&is_wanted)
{
  const GstVideoCropMeta *const crop = gst_buffer_get_video_crop_meta (buffer);
  gpointer state = nullptr;
  while (GstMeta *meta = gst_buffer_iterate_meta_filtered (buffer, &state,
                                                           GST_INTEGRAL_HISTOGRAM_META_API_TYPE)) {
    auto *const found = reinterpret_cast<GstIntegralHistogramMeta *> (meta);
    if (crop && (crop->width != found->width || crop->height != found->height))
      continue;
    if (found->histogram && is_wanted (found))
      return found;
  }
  return nullptr;
}

}  // namespace integralhist
