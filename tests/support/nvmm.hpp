// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Buffers of memory:NVMM in host memory, which need no GPU and no software of NVIDIA. They are like
// those of NVIDIA's converter: a pool of few buffers, memory of the type "nvds" that is never
// shared, rows and planes with gaps, and a GstVideoMeta that is wrong for them. The pool overwrites
// the pixels of a buffer that comes back.
//
//   tonvmm properties ! ... ! fromnvmm      elements of these tests, from and to system memory;
//                                           fromnvmm copies from a GPU, too
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#if INTHIST_CUDA
#include <cuda_runtime.h>
#endif
#include <gst/video/video.h>

#include "test.hpp"

namespace nvmm {

/// The first of the numbers that the format of a surface has, and the number of its planes.
inline const std::map<std::string, int> kColourFormats = {
  { "GRAY8", 1 },       { "I420", 2 },        { "YV12", 3 },       { "NV12", 6 },
  { "NV21", 8 },        { "UYVY", 10 },       { "YUY2", 14 },      { "Y444", 18 },
  { "RGBA", 19 },       { "BGRA", 20 },       { "ARGB", 21 },      { "ABGR", 22 },
  { "RGBx", 23 },       { "BGRx", 24 },       { "xRGB", 25 },      { "xBGR", 26 },
  { "RGB", 27 },        { "BGR", 28 },        { "P010_10LE", 29 }, { "Y42B", 46 },
  { "RGB10A2_LE", 64 }, { "BGR10A2_LE", 66 }, { "GRAY16_LE", 92 },
};

/// The fields of the structs, by their offsets.
enum Descriptor : gsize { kGpu = 0, kBatch = 4, kFilled = 8, kMemory = 16, kSurfaces = 24 };
enum Parameters : gsize {
  kWidth = 0,
  kHeight = 4,
  kPitch = 8,
  kColourFormat = 12,
  kLayout = 16,
  kBytes = 32,
  kData = 40,
  kPlanes = 48,
  kPlanePitch = 84,
  kPlaneOffset = 100
};

/// The frame of a buffer.
struct Surface {
  std::vector<guint8> descriptor, parameters, pixels;
  std::vector<gsize> offsets, strides;

  static void set (std::vector<guint8> &of, gsize at, guint32 value)
  {
    std::memcpy (of.data () + at, &value, 4);
  }
  static void set (std::vector<guint8> &of, gsize at, const void *value)
  {
    std::memcpy (of.data () + at, &value, sizeof value);
  }

  /// Makes a surface whose descriptor has `size` bytes, 64 or 72, with memory of this number. It is
  /// the first of `batch`.
  Surface (const GstVideoInfo &info, guint32 memory, gsize size = 72, guint32 batch = 1)
      : descriptor (size), parameters (batch * (size == 64 ? 384 : 416))
  {
    gsize end = 0;
    for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (&info); p++) {
      offsets.push_back (end);
      strides.push_back (gsize (GST_VIDEO_INFO_PLANE_STRIDE (&info, p)) + 24 + 8 * p);
      end += strides[p] * rows_of (info, p) + 104;
      set (parameters, kPlanePitch + 4 * p, guint32 (strides[p]));
      set (parameters, kPlaneOffset + 4 * p, guint32 (offsets[p]));
    }
    pixels.resize (end - 104);
    set (descriptor, kBatch, batch);
    set (descriptor, kFilled, 1);
    set (descriptor, kMemory, memory);
    set (descriptor, kSurfaces, parameters.data ());
    set (parameters, kWidth, guint32 (info.width));
    set (parameters, kHeight, guint32 (info.height));
    set (parameters, kPitch, guint32 (strides[0]));
    set (parameters, kColourFormat, guint32 (kColourFormats.at (GST_VIDEO_INFO_NAME (&info))));
    set (parameters, kBytes, guint32 (pixels.size ()));
    set (parameters, kData, pixels.data ());
    set (parameters, kPlanes, GST_VIDEO_INFO_N_PLANES (&info));
  }
  Surface (const Surface &) = delete;

  static gsize rows_of (const GstVideoInfo &info, guint plane)
  {
    guint c = 0;
    while (GST_VIDEO_FORMAT_INFO_PLANE (info.finfo, c) != plane)
      c++;
    return gsize (GST_VIDEO_INFO_COMP_HEIGHT (&info, c));
  }

  /// Copies the rows from or to a frame in system memory, which has usual strides.
  void copy (const GstVideoInfo &info, GstBuffer *buffer, bool to_buffer)
  {
    GstVideoFrame frame;
    GstVideoInfo usual = info;
    fail_unless (
        gst_video_frame_map (&frame, &usual, buffer, to_buffer ? GST_MAP_WRITE : GST_MAP_READ));
    for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (&info); p++)
      for (gsize y = 0; y < rows_of (info, p); y++) {
        auto *const there = static_cast<guint8 *> (GST_VIDEO_FRAME_PLANE_DATA (&frame, p))
                            + gssize (y) * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, p);
        guint8 *const here = pixels.data () + offsets[p] + y * strides[p];
        const auto bytes = gsize (std::min (GST_VIDEO_INFO_PLANE_STRIDE (&info, p),
                                            GST_VIDEO_FRAME_PLANE_STRIDE (&frame, p)));
        std::memcpy (to_buffer ? there : here, to_buffer ? here : there, bytes);
      }
    gst_video_frame_unmap (&frame);
  }
};

/// Has a buffer of one memory, which is never shared, with the descriptor of a surface.
struct Memory {
  GstMemory memory;
  std::unique_ptr<Surface> surface;
};

/// The surface that a buffer's descriptor points to; the buffer may be a copy.
struct Source {
  const guint8 *parameters, *data;
  guint32 memory;

  explicit Source (GstBuffer *buffer)
  {
    GstMapInfo map;
    fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ) && map.size >= 64);
    std::memcpy (&parameters, map.data + kSurfaces, sizeof parameters);
    std::memcpy (&memory, map.data + kMemory, sizeof memory);
    gst_buffer_unmap (buffer, &map);
    std::memcpy (&data, parameters + kData, sizeof data);
  }
  guint32 number (gsize at) const
  {
    guint32 value;
    std::memcpy (&value, parameters + at, sizeof value);
    return value;
  }
  /// Copies the first bytes of each row of a plane.
  void copy_plane (guint plane, guint8 *to, gsize bytes, gsize rows) const
  {
    const guint8 *const first = data + number (kPlaneOffset + 4 * plane);
    const gsize stride = number (kPlanePitch + 4 * plane);
#if INTHIST_CUDA
    if (memory == 0 || memory == 2) {
      fail_unless (cudaMemcpy2D (to, bytes, first, stride, bytes, rows, cudaMemcpyDeviceToHost)
                   == cudaSuccess);
      return;
    }
#endif
    for (gsize y = 0; y < rows; y++)
      std::memcpy (to + y * bytes, first + y * stride, bytes);
  }
};

/// Returns a buffer with a surface, which it takes.
GstBuffer *buffer_of (std::unique_ptr<Surface> surface);

/// Registers the elements tonvmm and fromnvmm.
void register_elements ();

}  // namespace nvmm
