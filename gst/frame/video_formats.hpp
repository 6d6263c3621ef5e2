// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/video/video.h>

#include <kernels/blend.hpp>
#include <kernels/pixel_format.hpp>

#include <gst/integralhist/base/error.hpp>

#include "nvmm_surface.hpp"

namespace integralhist {

/// Formats with luma in the first plane, and packed RGB, in system memory.
#define INTEGRALHIST_SYSTEM_FORMATS \
  "{ GRAY8, NV12, NV21, I420, YV12, Y42B, Y444, YUY2, UYVY, GRAY16_LE, " \
  "RGB, BGR, RGBx, BGRx, xRGB, xBGR, RGBA, BGRA, ARGB, ABGR, RGB10A2_LE, BGR10A2_LE }"

/// The formats of libgstcuda, too.
#define INTEGRALHIST_CUDA_FORMATS \
  "{ NV12, NV21, I420, YV12, Y42B, Y444, P010_10LE, P016_LE, I420_10LE, I422_10LE, I422_12LE, " \
  "Y444_16LE, YUY2, UYVY, " \
  "RGB, BGR, RGBx, BGRx, RGBA, BGRA, ARGB, ABGR, RGB10A2_LE, BGR10A2_LE }"

/// Those of them that can be drawn on in CUDA memory.
#define INTEGRALHIST_CANVAS_FORMATS \
  "{ NV12, NV21, I420, YV12, Y42B, Y444, P010_10LE, P016_LE, I420_10LE, I422_10LE, I422_12LE, " \
  "Y444_16LE, YUY2, UYVY, RGB, BGR, RGBx, BGRx, RGBA, BGRA, ARGB, ABGR }"

/// Those of NVMM, and those of them that can be drawn on where they lie.
#define INTEGRALHIST_NVMM_CANVAS_FORMATS \
  "NV12, NV21, I420, YV12, Y42B, Y444, P010_10LE, YUY2, UYVY, " \
  "RGB, BGR, RGBx, BGRx, RGBA, BGRA, ARGB, ABGR"
#define INTEGRALHIST_NVMM_CANVAS_CAPS \
  GST_VIDEO_CAPS_MAKE_WITH_FEATURES (INTEGRALHIST_NVMM_FEATURE, \
                                     "{ " INTEGRALHIST_NVMM_CANVAS_FORMATS " }")
#define INTEGRALHIST_NVMM_CAPS \
  GST_VIDEO_CAPS_MAKE_WITH_FEATURES (INTEGRALHIST_NVMM_FEATURE, \
                                     "{ " INTEGRALHIST_NVMM_CANVAS_FORMATS \
                                     ", GRAY8, GRAY16_LE, xRGB, xBGR, RGB10A2_LE, BGR10A2_LE }")

/// The memory that has the pixels of frames, by the features of their caps.
enum class FrameMemory { system, cuda, nvmm };

FrameMemory memory_of (const GstCaps *caps);

/// The contents of frames' caps. For NVMM the strides, offsets and size of `info` mean nothing.
struct FrameFormat {
  GstVideoInfo info = {};
  FrameMemory memory = FrameMemory::system;
};

/// Returns what caps say. Refuses caps that are not raw video, and frames whose fields are apart.
Expected<FrameFormat> frame_format_of (GstCaps *caps);

/// Returns whether the rows of a picture belong to two fields in turn. In a stream of mixed frames
/// the buffer's flags say it.
bool has_fields (const GstVideoFrame &picture);

/// Returns how the kernels read the first plane: luma unchanged (the top 8 bits of deeper samples),
/// or the luma of RGB. RGB takes the colorimetry's matrix, or for RGB caps the one of its primaries
/// (BT.709 where unknown). Ranges stay unchanged.
///
/// Of features that read colours, also says where these lie and how they become the ones that are
/// read: YCbCr by the colorimetry's matrix and range, RGB as with luma. Chroma is taken as it is,
/// each sample for all of its pixels.
inthist::PixelFormat pixel_format_of (const GstVideoInfo &info,
                                      inthist::Feature feature = inthist::Feature::luma,
                                      const inthist::Quantization &quantization = {});

/// Returns caps of the one format that has a feature, in any memory; null if all formats have it.
GstCaps *caps_of (inthist::Feature feature);

/// Returns an error for users if a feature is not possible in such caps.
Expected<> check_caps (const GstCaps *caps, inthist::Feature feature);

/// Takes the caps of an event. `checked` is an error for users if the pad's template has no such
/// caps.
using TakeCaps = void (*) (GstElement *element, const GstCaps *caps, const Expected<> &checked);
/// Calls `take` with each caps event of a sink pad, before the pad accepts or refuses the caps. If
/// it refuses them, upstream only says that the negotiation failed.
void probe_caps (GstPad *sink, TakeCaps take);

/// Returns a mapped picture of INTEGRALHIST_CANVAS_FORMATS to draw on.
inthist::Canvas canvas_of (const GstVideoFrame &picture);

}  // namespace integralhist
