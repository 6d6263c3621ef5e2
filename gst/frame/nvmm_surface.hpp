// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames of video/x-raw(memory:NVMM), which NVIDIA's elements for DeepStream and Jetson produce.
// The memory of such a buffer has no pixels but a descriptor, which points to a list of surfaces;
// each surface says where its pixels lie. The GstVideoMeta of such a buffer describes other memory,
// and is not read.
//
// A copy of the buffer copies only the descriptor. The pixels are overwritten once the original is
// back in its pool, which has four or five buffers.
//
// This code needs no software of NVIDIA. The layout of the descriptor, that of DeepStream 4.0 to
// 9.1, and the numbers are facts from NVIDIA's documentation and headers (docs/deepstream.md).
#pragma once

#include <array>
#include <cstddef>

#include <gst/video/video.h>

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

#define INTEGRALHIST_NVMM_FEATURE "memory:NVMM"

struct NvmmSurface {
  /// The memory that has the pixels: host memory that a GPU reads as well (pinned), GPU memory
  /// (device), memory that both share (unified), or other host memory.
  enum class Memory { pinned, device, unified, host };
  struct Plane {
    guint32 offset, stride;  // bytes
  };

  Memory memory = Memory::device;
  int device = 0;             // number of the GPU that holds the pixels, or reads them
  std::byte *data = nullptr;  // the pixels
  gsize bytes = 0;
  std::array<Plane, GST_VIDEO_MAX_PLANES> planes = {};

  /// Returns whether the pixels count as GPU memory: device memory, or unified memory if `has_gpu`.
  bool is_on_device (bool has_gpu) const
  {
    return memory == Memory::device || (memory == Memory::unified && has_gpu);
  }
};

/// Returns the surface of a buffer with one NVMM frame of this format. The pixels exist as long as
/// the buffer. Returns an error for users if there are several frames, if the memory cannot be
/// read, or if the surface contradicts itself or the caps.
Expected<NvmmSurface> nvmm_surface_of (GstBuffer *buffer, const GstVideoInfo &info);

/// Returns the surface that NVIDIA's struct NvBufSurfaceParams describes, in memory of a GPU or of
/// the host. nvtracker passes such structs to the tracker library.
Expected<NvmmSurface> nvmm_surface_of (const void *surface_params, NvmmSurface::Memory memory,
                                       int device, const GstVideoInfo &info);

bool is_nvmm (const GstCaps *caps);

/// Lets a copy of a buffer hold a reference to the original if the original may be an NVMM frame.
/// Such a copy uses the original's pixels, so the original must not return to its pool.
void keep_original (GstBuffer *copy, GstBuffer *original);
/// gst_buffer_make_writable () for NVMM too: a copy holds the original, whose pixels it uses.
GstBuffer *make_writable (GstBuffer *buffer);

}  // namespace integralhist
