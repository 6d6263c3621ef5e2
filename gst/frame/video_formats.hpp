// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The formats of video frames: which ones elements take, and how the kernels read and draw them.
#pragma once

#include <gst/video/video.h>

#include <kernels/blend.hpp>
#include <kernels/pixel_format.hpp>

#include <gst/integralhist/api/histogram.hpp>

#include "nvmm_surface.hpp"

namespace integralhist {

/// Formats in system memory that this project reads: luma in the first plane, or packed RGB.
#define INTEGRALHIST_SYSTEM_FORMATS \
  "{ GRAY8, NV12, NV21, I420, YV12, Y42B, Y444, YUY2, UYVY, GRAY16_LE, " \
  "RGB, BGR, RGBx, BGRx, xRGB, xBGR, RGBA, BGRA, ARGB, ABGR, RGB10A2_LE, BGR10A2_LE }"

/// The formats of frames in CUDA memory (libgstcuda) on which this project can draw, and those that
/// it can read.
#define INTEGRALHIST_CANVAS_FORMATS \
  "NV12, NV21, I420, YV12, Y42B, Y444, P010_10LE, P016_LE, I420_10LE, I422_10LE, I422_12LE, " \
  "Y444_16LE, YUY2, UYVY, RGB, BGR, RGBx, BGRx, RGBA, BGRA, ARGB, ABGR"
#define INTEGRALHIST_CUDA_FORMATS "{ " INTEGRALHIST_CANVAS_FORMATS ", RGB10A2_LE, BGR10A2_LE }"

/// The formats of NVMM frames on which this project can draw in place.
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

/// The kind of memory that holds the pixels of frames, as the caps features say.
enum class FrameMemory { system, cuda, nvmm };

FrameMemory memory_of (const GstCaps *caps);

/// The format of frames, from caps. For NVMM, strides, offsets and size in `info` are invalid.
struct FrameFormat {
  GstVideoInfo info = {};
  FrameMemory memory = FrameMemory::system;
};

/// Reads the format of frames from caps; refuses non-raw video, and fields in separate buffers.
Expected<FrameFormat> frame_format_of (GstCaps *caps);

/// Returns whether the rows of a picture belong to two fields in turn (interlaced). In a stream of
/// interlaced and progressive frames, the flags of each buffer decide.
bool has_fields (const GstVideoFrame &picture);

/// Returns how the kernels read the first plane of a frame: luma unchanged (the top 8 bits of
/// deeper samples), or the luma of RGB, by the matrix of the colorimetry. If that matrix is RGB,
/// the matrix of the primaries is used (BT.709 if unknown). Ranges stay unchanged.
///
/// For features that read colours, the result also has the places of the colours, and the transform
/// to the colours that the feature reads: from YCbCr by the colorimetry's matrix and range, from
/// RGB as for luma. Chroma is not interpolated: each sample holds for all of its pixels.
///
/// `bins` is the number of directions of a gradient, and of bins of a soft histogram.
inthist::PixelFormat pixel_format_of (const GstVideoInfo &info, const HistogramSpec &spec = {},
                                      int bins = 0);

/// Returns caps of the only pixel format from which a feature can be computed; null if all suit.
GstCaps *caps_of (inthist::Feature feature);

/// Returns an error for users if a feature cannot be computed from frames with these caps.
Expected<> check_caps (const GstCaps *caps, inthist::Feature feature);

using TakeCaps = void (*) (GstElement *element, const GstCaps *caps, const Expected<> &checked);
/// Calls `take` with the caps of each CAPS event before the pad may refuse them, and with an error
/// if the pad's template does not allow them: upstream would only report a failed negotiation.
void probe_caps (GstPad *sink, TakeCaps take);

/// Describes a mapped picture of INTEGRALHIST_CANVAS_FORMATS for the kernels that draw.
inthist::Canvas canvas_of (const GstVideoFrame &picture);

}  // namespace integralhist
