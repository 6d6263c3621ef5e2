// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Drawing on a frame in CUDA memory gives the same bytes as GstVideo's blending on the same frame
// in system memory, in every format. The test runs kernels/blend.hpp on the CPU, and on a GPU if
// there is one.
//
// Environment: devices.hpp
#include <algorithm>
#include <random>
#include <vector>

#if INTHIST_CUDA
#include <cuda_runtime.h>
#endif

#include <gst/elements/drawing/overlay_canvas.hpp>
#include <gst/frame/video_formats.hpp>
#include <gst/integralhist/cuda/base/cuda_context.hpp>
#include <gst/video/video.h>

#include "test.hpp"  // last: it has macros with names of the standard library

using namespace integralhist;

namespace {

std::mt19937 random_numbers (20250);

int between (int low, int high)
{
  return std::uniform_int_distribution (low, high) (random_numbers);
}

std::vector<GstVideoFormat> formats ()
{
  g_autoptr (GstCaps) caps =
      gst_caps_from_string ("video/x-raw,format={ " INTEGRALHIST_CANVAS_FORMATS " }");
  const GValue *list = gst_structure_get_value (gst_caps_get_structure (caps, 0), "format");
  std::vector<GstVideoFormat> all;
  for (guint i = 0; i < gst_value_list_get_size (list); i++)
    all.push_back (
        gst_video_format_from_string (g_value_get_string (gst_value_list_get_value (list, i))));
  fail_unless (all.size () > 15);
  return all;
}

/// A picture that owns its bytes.
struct Picture {
  GstVideoInfo info;
  std::vector<guint8> bytes;

  GstVideoFrame frame (guint8 *at)
  {
    GstVideoFrame frame = {};
    frame.info = info;
    for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (&info); p++)
      frame.data[p] = at + info.offset[p];
    return frame;
  }
  GstVideoFrame frame () { return frame (bytes.data ()); }
};

/// Noise in the used bits of samples.
Picture noise (GstVideoFormat format, int width, int height,
               GstVideoInterlaceMode mode = GST_VIDEO_INTERLACE_MODE_PROGRESSIVE)
{
  Picture picture;
  gst_video_info_set_interlaced_format (&picture.info, format, mode, guint (width), guint (height));
  picture.bytes.resize (picture.info.size);
  const int depth = int (GST_VIDEO_INFO_COMP_DEPTH (&picture.info, 0)),
            shift = int (GST_VIDEO_FORMAT_INFO_SHIFT (picture.info.finfo, 0));
  for (gsize i = 0; i<picture.bytes.size (); i += depth> 8 ? 2 : 1)
    if (depth > 8)
      GST_WRITE_UINT16_LE (&picture.bytes[i], guint16 (between (0, (1 << depth) - 1) << shift));
    else
      picture.bytes[i] = guint8 (between (0, 255));
  return picture;
}

inthist::Argb premultiplied ()
{
  const int kind = between (0, 3);
  const guint alpha = kind == 0 ? 0 : kind == 1 ? 255 : guint (between (1, 254));
  const auto colour = [alpha] { return guint (between (0, int (alpha))); };
  return alpha << 24 | colour () << 16 | colour () << 8 | colour ();
}

/// Drawings that lie over one another, single pixels and whole pictures among them.
DrawingList some_drawings (int width, int height)
{
  DrawingList list;
  for (int i = 0; i < 12; i++) {
    GstVideoRectangle place = { between (0, width - 1), between (0, height - 1), 0, 0 };
    if (i == 3)
      place.x = place.y = 0;
    place.w = i == 3 ? width : i == 4 ? 1 : between (1, width - place.x);
    place.h = i == 3 ? height : i == 4 ? 1 : between (1, height - place.y);
    std::vector<inthist::Argb> pixels (gsize (place.w) * gsize (place.h));
    std::ranges::generate (pixels, premultiplied);
    fail_unless (bool (list.blend (pixels, place)));
  }
  return list;
}

/// Clears bytes without a meaning, which may differ.
void clear_unused (Picture &picture)
{
  const GstVideoFormatInfo *const format = picture.info.finfo;
  const bool has_unused = GST_VIDEO_FORMAT_INFO_IS_RGB (format)
                          && !GST_VIDEO_FORMAT_INFO_HAS_ALPHA (format)
                          && GST_VIDEO_FORMAT_INFO_PSTRIDE (format, 0) == 4;
  for (gsize i = 3; has_unused && i < picture.bytes.size (); i += 4)
    picture.bytes[i] = 0;
}

void expect_equal (Picture is, Picture wanted, const char *where)
{
  clear_unused (is);
  clear_unused (wanted);
  const auto [at, other] = std::ranges::mismatch (is.bytes, wanted.bytes);
  if (at != is.bytes.end ())
    fail ("%s, %dx%d, %s: byte %d is %d instead of %d", GST_VIDEO_INFO_NAME (&is.info),
          is.info.width, is.info.height, where, int (at - is.bytes.begin ()), *at, *other);
}

/// Draws on the CPU, in the order of the drawings.
void draw_here (Picture &picture, const LevelPicture *map, const Drawings &drawings)
{
  GstVideoFrame frame = picture.frame ();
  const inthist::Canvas canvas = canvas_of (frame);
  if (map) {
    const int width = int (map->columns.size ()), height = int (map->rows.size ());
    const inthist::LevelMap here = { map->levels.data (),
                                     map->stride,
                                     map->columns.data (),
                                     map->rows.data (),
                                     map->colours.data (),
                                     map->x,
                                     map->y,
                                     width,
                                     height };
    for (int y = 0; y < height; y++)
      for (int x = 0; x < width; x++)
        inthist::blend (canvas, map->x + x, map->y + y, inthist::pixel_of (here, x, y));
  }
  for (const inthist::Drawing &d : drawings.all)
    for (int y = 0; y < d.height; y++)
      for (int x = 0; x < d.width; x++)
        inthist::blend (canvas, d.x + x, d.y + y,
                        drawings.pixels[d.first + std::size_t (y) * d.width + x]);
}

Expected<std::shared_ptr<CudaContext>> gpu ()
{
  TRY (CudaContext::device_count ());  // which starts the driver
  return CudaContext::primary (0);
}

/// Draws on a GPU, on a stream or at once. Returns false if there is no GPU.
bool draw_there (Picture &picture, const LevelPicture *map, const Drawings &drawings,
                 bool has_stream)
{
  const auto context = gpu ();
  if (!context)
    return false;
#if INTHIST_CUDA
  const CudaContext::Scope scope (**context);
  static auto &canvas = *new std::unique_ptr (std::move (*make_device_blender (*context)));
  guint8 *there;
  fail_unless (cudaMalloc (reinterpret_cast<void **> (&there), picture.bytes.size ())
               == cudaSuccess);
  fail_unless (
      cudaMemcpy (there, picture.bytes.data (), picture.bytes.size (), cudaMemcpyHostToDevice)
      == cudaSuccess);
  // cudaMemcpy () may return before the GPU has the bytes, and `stream` does not wait for them
  fail_unless (cudaDeviceSynchronize () == cudaSuccess);
  cudaStream_t stream = nullptr;
  if (has_stream)
    fail_unless (cudaStreamCreateWithFlags (&stream, cudaStreamNonBlocking) == cudaSuccess);
  GstVideoFrame frame = picture.frame (there);
  const auto drawn = canvas->draw (canvas_of (frame), map, drawings, stream);
  fail_unless (bool (drawn), "%s", drawn ? "" : drawn.error ().message.c_str ());
  if (stream) {
    fail_unless (cudaStreamSynchronize (stream) == cudaSuccess);
    cudaStreamDestroy (stream);
  }
  fail_unless (
      cudaMemcpy (picture.bytes.data (), there, picture.bytes.size (), cudaMemcpyDeviceToHost)
      == cudaSuccess);
  cudaFree (there);
#else
  (void) picture, (void) map, (void) drawings, (void) has_stream;
#endif
  return true;
}

void say_skipped (bool there)
{
  if (!there)
    printf ("SKIP: drawing on CUDA: %s\n", gpu ().error ().message.c_str ());
}

}  // namespace

TEST (as_gstvideo)
{
  bool there = false;
  for (const GstVideoFormat format : formats ())
    for (const auto &[width, height, mode] :
         { std::tuple (64, 48, GST_VIDEO_INTERLACE_MODE_PROGRESSIVE),
           std::tuple (61, 43, GST_VIDEO_INTERLACE_MODE_PROGRESSIVE),
           std::tuple (61, 43, GST_VIDEO_INTERLACE_MODE_INTERLEAVED) }) {
      const Picture before = noise (format, width, height, mode);
      const DrawingList list = some_drawings (width, height);
      Picture wanted = before;
      GstVideoFrame frame = wanted.frame ();
      SystemCanvas canvas (frame);
      for (const inthist::Drawing &d : list.drawings ().all) {
        const auto drawn = canvas.blend (
            list.drawings ().pixels.subspan (d.first, std::size_t (d.width) * d.height),
            { d.x, d.y, d.width, d.height });
        fail_unless (bool (drawn), "%s", drawn ? "" : drawn.error ().message.c_str ());
      }
      fail_unless (wanted.bytes != before.bytes);
      Picture here = before;
      draw_here (here, nullptr, list.drawings ());
      expect_equal (here, wanted, "CPU");
      for (const bool has_stream : { false, true }) {
        Picture on_device = before;
        there = draw_there (on_device, nullptr, list.drawings (), has_stream);
        if (there)
          expect_equal (on_device, wanted, "CUDA");
      }
    }
  say_skipped (there);
}

/// Drawings on an interlaced picture equal those that GstVideo draws on each of its fields.
TEST (fields)
{
  for (const GstVideoFormat format : formats ()) {
    const int width = 61, height = 48;
    Picture woven = noise (format, width, height, GST_VIDEO_INTERLACE_MODE_INTERLEAVED);
    Picture apart[2] = { noise (format, width, height / 2), noise (format, width, height / 2) };
    const auto each_row = [&] (auto &&visit) {
      GstVideoFrame frame = woven.frame ();
      for (int field = 0; field < 2; field++) {
        GstVideoFrame of = apart[field].frame ();
        for (guint p = 0; p < GST_VIDEO_FRAME_N_PLANES (&of); p++)
          for (int y = 0, n = p == 0 ? height / 2 : GST_VIDEO_FRAME_COMP_HEIGHT (&of, p); y < n;
               y++)
            visit (static_cast<guint8 *> (frame.data[p])
                       + (2 * y + field) * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, p),
                   static_cast<guint8 *> (of.data[p]) + y * GST_VIDEO_FRAME_PLANE_STRIDE (&of, p),
                   gsize (std::min (GST_VIDEO_FRAME_PLANE_STRIDE (&frame, p),
                                    GST_VIDEO_FRAME_PLANE_STRIDE (&of, p))));
      }
    };
    each_row ([] (guint8 *both, guint8 *one, gsize bytes) { std::copy_n (one, bytes, both); });
    const DrawingList list = some_drawings (width, height);
    draw_here (woven, nullptr, list.drawings ());
    for (const inthist::Drawing &d : list.drawings ().all)
      for (int y = 0; y < d.height; y++) {
        GstVideoFrame frame = apart[(d.y + y) & 1].frame ();
        fail_unless (bool (
            SystemCanvas (frame).blend (list.drawings ().pixels.subspan (
                                            d.first + gsize (y) * gsize (d.width), gsize (d.width)),
                                        { d.x, (d.y + y) / 2, d.width, 1 })));
      }
    each_row ([&] (guint8 *both, guint8 *one, gsize bytes) {
      const GstVideoFormatInfo *const info = woven.info.finfo;
      for (gsize i = 0; i < bytes; i++)
        fail_unless (both[i] == one[i] || (GST_VIDEO_FORMAT_INFO_IS_RGB (info) && i % 4 == 3),
                     "%s: byte %d is %d instead of %d", info->name, int (i), both[i], one[i]);
    });
  }
}

/// A map covers its box with the colours of its levels, and drawings lie over it.
TEST (maps)
{
  bool there = false;
  for (const GstVideoFormat format : { GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_RGBA })
    for (const int width : { 33, 700 }) {
      const int height = 41, stride = 9;
      std::vector<std::uint8_t> levels (gsize (stride) * 5);
      std::ranges::generate (levels, [] { return std::uint8_t (between (0, 255)); });
      std::vector<int> columns (gsize (width) - 3), rows (gsize (height) - 7);
      std::ranges::generate (columns, [] { return between (0, 8); });
      std::ranges::generate (rows, [] { return between (0, 4); });
      std::array<inthist::Argb, 256> colours;
      std::ranges::generate (colours, premultiplied);
      const LevelPicture map = { levels, stride, columns, rows, colours, 3, 5 };
      const Picture before = noise (format, width, height);

      // the same as a drawing of the box
      DrawingList as_drawing;
      std::vector<inthist::Argb> pixels;
      for (const int row : rows)
        for (const int column : columns)
          pixels.push_back (colours[levels[gsize (row) * stride + gsize (column)]]);
      const GstVideoRectangle box = { 3, 5, int (columns.size ()), int (rows.size ()) };
      fail_unless (bool (as_drawing.blend (pixels, box)));
      DrawingList over = some_drawings (width, height);
      Picture wanted = before;
      draw_here (wanted, nullptr, as_drawing.drawings ());
      fail_unless (wanted.bytes != before.bytes);
      draw_here (wanted, nullptr, over.drawings ());
      Picture here = before;
      draw_here (here, &map, over.drawings ());
      expect_equal (here, wanted, "CPU");
      Picture on_device = before;
      there = draw_there (on_device, &map, over.drawings (), true);
      if (there)
        expect_equal (on_device, wanted, "CUDA");
    }
  say_skipped (there);
}

/// Drawings of a layer have no pixel in common, and one over another is in a later layer.
TEST (layers)
{
  for (int round = 0; round < 50; round++) {
    std::vector<inthist::Drawing> all;
    for (int i = 0; i < 30; i++)
      all.push_back ({ between (0, 60), between (0, 60), between (1, 20), between (1, 20), 0 });
    const std::vector<int> layers = layers_of (all);
    fail_unless_equals_uint64 (layers.size (), all.size ());
    std::vector<int> top (80 * 80, -1);  // the layer of each pixel's last drawing
    for (std::size_t i = 0; i < all.size (); i++)
      for (int y = all[i].y; y < all[i].y + all[i].height; y++)
        for (int x = all[i].x; x < all[i].x + all[i].width; x++) {
          int &before = top[gsize (y * 80 + x)];
          if (before >= layers[i])
            fail ("drawing %d of layer %d lies over one of layer %d", int (i), layers[i], before);
          before = layers[i];
        }
    fail_unless (*std::ranges::max_element (layers) < 29);
  }
}
