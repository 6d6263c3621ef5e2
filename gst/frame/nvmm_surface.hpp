// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames of video/x-raw(memory:NVMM), which NVIDIA's elements for DeepStream and Jetson hand out.
// The memory of such a buffer has no pixels but a descriptor, which points to a list of surfaces;
// each says where its pixels lie. GstVideoMeta of such a buffer is of other memory, and is not
// read.
//
// A copy of the buffer copies the descriptor alone. Its pixels are written again once the original
// is back in its pool, which has four or five of them.
//
// Nothing of NVIDIA's is needed for this. The layout is that of DeepStream 4.0 to 9.1; it and the
// numbers are facts from NVIDIA's documentation and headers (docs/deepstream.md).
#pragma once

#include <array>
#include <cstddef>

#include <gst/video/video.h>

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

/// The feature of the caps of such frames.
#define INTEGRALHIST_NVMM_FEATURE "memory:NVMM"

struct NvmmSurface {
  enum class Memory {
    pinned,   // the host's, which the GPU reads, too
    device,   // the GPU's
    unified,  // that of both
    host
  };
  struct Plane {
    guint32 offset, stride;  // bytes
  };

  Memory memory = Memory::device;
  int device = 0;  // the GPU that has the pixels, or reads them
  int width = 0, height = 0;
  std::byte *data = nullptr;  // of the pixels
  gsize bytes = 0;
  std::array<Plane, GST_VIDEO_MAX_PLANES> planes = {};

  /// Returns whether a GPU reads the pixels where they lie; `has_gpu` is whether there is one.
  bool is_on_device (bool has_gpu) const
  {
    return memory == Memory::device || (memory == Memory::unified && has_gpu);
  }
};

/// Returns the surface of a buffer with one frame of this format, which has pixels as long as the
/// buffer lives. Returns an error for users if there are several frames, if the memory cannot be
/// read, or if the surface contradicts itself or the caps.
Expected<NvmmSurface> nvmm_surface_of (GstBuffer *buffer, const GstVideoInfo &info);

/// Returns the surface with these parameters (NvBufSurfaceParams), in memory of a GPU or of the
/// host. nvtracker gives such parameters to the tracker library.
Expected<NvmmSurface> nvmm_surface_of (const void *parameters, NvmmSurface::Memory memory,
                                       int device, const GstVideoInfo &info);

/// Returns whether caps are of such frames.
bool is_nvmm (const GstCaps *caps);

/// Has the copy of a buffer keep the original out of its pool, if it may be one of such frames: the
/// copy has the original's pixels.
void keep_original (GstBuffer *copy, GstBuffer *original);
/// Does what gst_buffer_make_writable () does, and keeps the original of a copy.
GstBuffer *make_writable (GstBuffer *buffer);

}  // namespace integralhist
