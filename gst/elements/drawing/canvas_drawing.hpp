// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Draws on frames in place: on frames in CUDA memory, and on NVMM frames in the memory of a GPU or
// of the host.
#pragma once

#include <memory>

#include <gst/video/video.h>

#include <gst/frame/video_formats.hpp>
#include <gst/integralhist/cuda/cuda_context.hpp>
#include <gst/integralhist/engine/device_canvas.hpp>

namespace integralhist {

class CanvasDrawing {
public:
  /// Draws on the frame of a writable buffer in CUDA memory or NVMM: first the map, if there is
  /// one, then the drawings. Before GStreamer 1.24, and for NVMM, all is drawn on return;
  /// otherwise, readers on the memory's CUDA stream see the drawing.
  Expected<> draw (GstBuffer *buffer, const FrameFormat &format, const LevelPicture *map,
                   const Drawings &drawings);
  void clear ();

private:
  Expected<> open (std::shared_ptr<CudaContext> context);

  std::shared_ptr<CudaContext> context_;
  std::unique_ptr<DeviceCanvas> canvas_;  // for this context
};

/// Refuses an NVMM frame that other elements hold, because a copy of its buffer has the same
/// pixels. `element` is the name of the element that draws.
Expected<> check_alone (GstBuffer *buffer, const FrameFormat &format, const char *element);

/// Returns `others` (transfer full), followed by the caps of other memory on which drawing is
/// possible.
GstCaps *with_canvas_caps (GstCaps *others);

}  // namespace integralhist
