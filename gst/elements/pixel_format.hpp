// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/video/video.h>

#include <inthist.hpp>

namespace integralhist {

/// Formats with luma in the first plane, and packed RGB, in system memory.
#define INTEGRALHIST_SYSTEM_FORMATS \
  "{ GRAY8, NV12, NV21, I420, YV12, Y42B, Y444, YUY2, UYVY, GRAY16_LE, " \
  "RGB, BGR, RGBx, BGRx, xRGB, xBGR, RGBA, BGRA, ARGB, ABGR, RGB10A2_LE, BGR10A2_LE }"

/// And those of libgstcuda.
#define INTEGRALHIST_CUDA_FORMATS \
  "{ NV12, NV21, I420, YV12, Y42B, Y444, P010_10LE, P016_LE, I420_10LE, I422_10LE, I422_12LE, " \
  "Y444_16LE, YUY2, UYVY, " \
  "RGB, BGR, RGBx, BGRx, RGBA, BGRA, ARGB, ABGR, RGB10A2_LE, BGR10A2_LE }"

/// How the kernels read the first plane of such a format: luma as it is (the top 8 bits of deeper
/// samples), or the luma of RGB by the colorimetry's matrix, for RGB caps that of its primaries
/// (BT.709 where they are unknown). Ranges are left as they are.
inthist::PixelFormat pixel_format (const GstVideoInfo &info);

}  // namespace integralhist
