// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cuda_drawing.hpp"

#include <gst/elements/frame/cuda_device.hpp>
#include <gst/elements/frame/mapped_frame.hpp>
#include <gst/elements/frame/video_formats.hpp>

namespace integralhist {

Expected<> CudaDrawing::draw (GstBuffer *buffer, const GstVideoInfo &info, const LevelPicture *map,
                              const Drawings &drawings)
{
  MappedFrame frame = TRY (MappedFrame::map (
      buffer, info, int (GST_MAP_READWRITE) | int (GST_VIDEO_FRAME_MAP_FLAG_NO_REF) | kMapCuda));
  TRY (check_planes (frame.video ()));
  auto context = TRY (CudaDevice::context_of (buffer));
  if (!context)
    return error (Error::Kind::bad_frame,
                  "The frame cannot be drawn on: its caps say CUDA memory, and it is in another");
  if (!context_ || context->handle () != context_->handle ()) {
    canvas_ = TRY (make_device_canvas (context));
    context_ = std::move (context);
  }
  return canvas_->draw (canvas_of (frame.video ()), map, drawings,
                        CudaDevice::producer_stream (buffer));
}

void CudaDrawing::clear ()
{
  canvas_.reset ();
  context_.reset ();
}

GstCaps *with_canvas_caps (GstCaps *others)
{
  gst_caps_append (others, gst_caps_from_string (kCanvasCaps));
  return others;
}

bool is_cuda (GstCaps *caps)
{
  return gst_caps_get_size (caps) > 0
         && gst_caps_features_contains (gst_caps_get_features (caps, 0), "memory:CUDAMemory");
}

}  // namespace integralhist
