// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The targets on which elements draw, such as boxes, charts and scales of colours: a picture in
// system memory, with GstVideo, or a list of drawings for a picture in GPU memory.
#pragma once

#include <vector>

#include <gst/video/video.h>

#include <gst/integralhist/engine/device_blender.hpp>

namespace integralhist {

class OverlayCanvas {
public:
  virtual ~OverlayCanvas () = default;
  /// Blends ARGB pixels over a rectangle inside the picture. The pixels are premultiplied by alpha
  /// as in cairo, and there are no gaps between rows.
  virtual Expected<> blend (std::span<const inthist::Argb> pixels,
                            const GstVideoRectangle &place) = 0;
};

/// Returns whether GstVideo can blend onto pictures of a format without changing other pixels.
bool can_paint (GstVideoFormat format);

/// Draws on a picture in system memory, which the caller has mapped for reading and writing.
class SystemCanvas final : public OverlayCanvas {
public:
  explicit SystemCanvas (const GstVideoFrame &picture) : picture_ (picture) {}

  Expected<> blend (std::span<const inthist::Argb> pixels, const GstVideoRectangle &place) override;

private:
  Expected<> blend_fields (std::span<const inthist::Argb> pixels, const GstVideoRectangle &place);

  const GstVideoFrame &picture_;
};

/// Collects the drawings of a frame in GPU memory; CanvasDrawing draws the whole list later.
class DrawingList final : public OverlayCanvas {
public:
  Expected<> blend (std::span<const inthist::Argb> pixels, const GstVideoRectangle &place) override
  {
    all_.push_back ({ place.x, place.y, place.w, place.h, pixels_.size () });
    pixels_.insert (pixels_.end (), pixels.begin (), pixels.end ());
    return {};
  }
  Drawings drawings () const { return { all_, pixels_ }; }

private:
  std::vector<inthist::Drawing> all_;
  std::vector<inthist::Argb> pixels_;
};

}  // namespace integralhist
