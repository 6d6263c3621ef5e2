// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Draws on frames in CUDA memory, where they lie.
#pragma once

#include <memory>

#include <gst/video/video.h>

#include <gst/integralhist/cuda/cuda_context.hpp>
#include <gst/integralhist/engine/device_canvas.hpp>

namespace integralhist {

class CudaDrawing {
public:
  /// Draws on the frame of a writable buffer in CUDA memory; a map comes first where there is one.
  /// What reads the memory on its stream sees it; before GStreamer 1.24 it is drawn on return.
  Expected<> draw (GstBuffer *buffer, const GstVideoInfo &info, const LevelPicture *map,
                   const Drawings &drawings);
  void clear ();

private:
  std::shared_ptr<CudaContext> context_;
  std::unique_ptr<DeviceCanvas> canvas_;  // of this context
};

/// Returns the caps, which it takes, and behind them those of CUDA memory that can be drawn on.
GstCaps *with_canvas_caps (GstCaps *others);
/// Returns whether frames of these caps are in CUDA memory.
bool is_cuda (GstCaps *caps);

}  // namespace integralhist
