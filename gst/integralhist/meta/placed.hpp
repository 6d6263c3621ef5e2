// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The place of metas in a frame, and how it follows the changes that GStreamer's elements make.
#pragma once

#include <optional>
#include <string>

#include <kernels/expected.hpp>

#include <gst/integralhist/gstintegralhistogrammeta.h>

#include "frame_geometry.hpp"

namespace integralhist {

/// The place of a meta: the size of the frame that carries it, and how this frame was changed,
/// except for scaling.
struct Placed {
  guint width, height;
  std::optional<FrameGeometry> geometry;  // null if the frame shows all of the original, upright

  FrameGeometry geometry_of (int original_width, int original_height) const;
};

/// Returns whether a scaled frame shows the whole original and nothing else. If the aspect ratio
/// changes, scalers may keep the picture's shape by adding borders, and do not say so.
bool same_aspect (const GstVideoInfo &in, const GstVideoInfo &out);

/// Returns the place of a meta after a transformation by GStreamer. The meta's original has the
/// given size. If the meta must be dropped, the error is the reason, or empty.
inthist::Expected<Placed, std::string> transformed (const Placed &placed, int original_width,
                                                    int original_height, GQuark type,
                                                    gpointer data);

/// Returns the geometry of the frame that carries a histogram's meta.
FrameGeometry geometry_of (const GstIntegralHistogramMeta *meta);
/// Returns whether that frame shows all that was computed, upright and without borders.
bool shows_all (const GstIntegralHistogramMeta *meta);

/// Returns the first meta that is wanted and whose histogram matches the visible pixels, or null.
template <class IsWanted>
GstIntegralHistogramMeta *find_meta (GstBuffer *buffer, IsWanted &&is_wanted)
{
  const GstVideoCropMeta *const crop = gst_buffer_get_video_crop_meta (buffer);
  gpointer state = nullptr;
  while (GstMeta *meta = gst_buffer_iterate_meta_filtered (buffer, &state,
                                                           GST_INTEGRAL_HISTOGRAM_META_API_TYPE)) {
    auto *const found = reinterpret_cast<GstIntegralHistogramMeta *> (meta);
    // Skips a meta of a frame that was cropped later: the visible pixels differ from the computed
    // ones.
    if (crop && (crop->width != found->width || crop->height != found->height))
      continue;
    if (found->histogram && is_wanted (found))
      return found;
  }
  return nullptr;
}

}  // namespace integralhist
