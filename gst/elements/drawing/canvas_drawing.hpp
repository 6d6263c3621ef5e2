// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Draws in place on frames in CUDA memory, and on NVMM frames in GPU or host memory.
#pragma once

#include <memory>

#include <gst/video/video.h>

#include <gst/frame/video_formats.hpp>
#include <gst/integralhist/cuda/base/cuda_context.hpp>
#include <gst/integralhist/engine/device_blender.hpp>

namespace integralhist {

class CanvasDrawing {
public:
  /// Draws on the frame of a writable buffer in CUDA memory or NVMM: first the likelihood map, if
  /// there is one, then the drawings. Before GStreamer 1.24, and for NVMM, all is drawn on return;
  /// otherwise, readers on the CUDA stream of the memory see the drawing.
  Expected<> draw (GstBuffer *buffer, const FrameFormat &format, const LevelPicture *map,
                   const Drawings &drawings);
  void clear ();

private:
  Expected<> open (std::shared_ptr<CudaContext> context);

  std::shared_ptr<CudaContext> context_;
  std::unique_ptr<DeviceBlender> blender_;  // for this context
};

/// Refuses an NVMM frame that other elements hold: a copy of the buffer would share the pixels, so
/// all would see the drawing. `element` is the name of the element that draws.
Expected<> check_alone (GstBuffer *buffer, const FrameFormat &format, const char *element);

/// Appends the caps of GPU memory that elements can draw on to `others` (transfer full).
GstCaps *with_canvas_caps (GstCaps *others);

}  // namespace integralhist
