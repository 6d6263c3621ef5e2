// SPDX-License-Identifier: LGPL-2.1-or-later
#include "canvas_drawing.hpp"

#include <gst/elements/device/cuda_device.hpp>
#include <gst/frame/mapped_frame.hpp>

namespace integralhist {

static void blend_box (const inthist::Canvas &canvas, const GstVideoRectangle &box,
                       const auto &pixel_at)
{
  for (int y = 0; y < box.h; y++)
    for (int x = 0; x < box.w; x++)
      inthist::blend (canvas, box.x + x, box.y + y, pixel_at (x, y));
}

static void draw_on_host (const inthist::Canvas &canvas, const LevelPicture *map,
                          const Drawings &drawings)
{
  if (map) {
    const inthist::LevelMap levels = { map->levels.data (),
                                       map->stride,
                                       map->columns.data (),
                                       map->rows.data (),
                                       map->colours.data (),
                                       map->x,
                                       map->y,
                                       int (map->columns.size ()),
                                       int (map->rows.size ()) };
    blend_box (canvas, { levels.x, levels.y, levels.width, levels.height },
               [&] (int x, int y) { return pixel_of (levels, x, y); });
  }
  for (const inthist::Drawing &one : drawings.all)
    blend_box (canvas, { one.x, one.y, one.width, one.height }, [&] (int x, int y) {
      return drawings
          .pixels[one.first + std::size_t (y) * std::size_t (one.width) + std::size_t (x)];
    });
}

/// Returns whether no other element holds the buffer, or another buffer of which it is a copy.
static bool is_alone (GstBuffer *buffer, int copies = 0)
{
  constexpr int kMostCopies = 100;
  if (!gst_buffer_is_writable (buffer) || copies > kMostCopies)
    return false;
  gpointer state = nullptr;
  while (GstMeta *meta =
             gst_buffer_iterate_meta_filtered (buffer, &state, GST_PARENT_BUFFER_META_API_TYPE))
    if (!is_alone (reinterpret_cast<GstParentBufferMeta *> (meta)->buffer, copies + 1))
      return false;
  return true;
}

Expected<> CanvasDrawing::open (std::shared_ptr<CudaContext> context)
{
  if (context_ && context->handle () == context_->handle ())
    return {};
  blender_ = TRY (make_device_blender (context));
  context_ = std::move (context);
  return {};
}

Expected<> CanvasDrawing::draw (GstBuffer *buffer, const FrameFormat &format,
                                const LevelPicture *map, const Drawings &drawings)
{
  MappedFrame frame = TRY (MappedFrame::map (buffer, format, GST_MAP_READWRITE | kMapCuda));
  if (!frame.surface ())  // MappedFrame::map () has checked the planes of a surface
    TRY (check_planes (frame.video ()));
  const inthist::Canvas canvas = canvas_of (frame.video ());
  if (const auto &surface = frame.surface ()) {
    if (!surface->is_on_device (CudaContext::device_count ().has_value ())) {
      draw_on_host (canvas, map, drawings);
      return {};
    }
    if (!context_ || context_->device () != surface->device)
      TRY (open (TRY (CudaContext::primary (surface->device))));
    return blender_->draw (canvas, map, drawings, nullptr);
  }
  auto context = TRY (CudaDevice::context_of (buffer));
  if (!context)
    return error (Error::Kind::bad_frame,
                  "The frame cannot be drawn on: its caps say CUDA memory, but it is in other "
                  "memory. Correct the element that makes these frames");
  TRY (open (std::move (context)));
  return blender_->draw (canvas, map, drawings, CudaDevice::producer_stream (buffer));
}

void CanvasDrawing::clear ()
{
  blender_.reset ();
  context_.reset ();
}

Expected<> check_alone (GstBuffer *buffer, const FrameFormat &format, const char *element)
{
  if (format.memory != FrameMemory::nvmm || is_alone (buffer))
    return {};
  return error (
      Error::Kind::bad_frame,
      "The NVMM frame cannot be drawn on: another element has it too, such as behind a tee. Put ",
      element,
      " before the tee, or put nvvideoconvert with another format before it, such as "
      "\"nvvideoconvert ! video/x-raw(memory:NVMM),format=RGBA\"");
}

GstCaps *with_canvas_caps (GstCaps *others)
{
  gst_caps_append (others, gst_caps_from_string (kCanvasCaps));
  return others;
}

}  // namespace integralhist
