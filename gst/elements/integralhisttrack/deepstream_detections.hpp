// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Reads the detections of NVIDIA's DeepStream, which nvinfer puts into the meta that nvstreammux
// attaches (NvDsBatchMeta). Nothing from NVIDIA is needed: the layout, that of DeepStream 5.0 to
// 9.1, comes from the documentation and headers (docs/deepstream.md).
#pragma once

#include <vector>

#include <gst/gst.h>

#include <gst/track/base/detection.hpp>

namespace integralhist {

/// Appends the DeepStream detections of a buffer whose batch has one frame. The class of a
/// detection is given as a number, because the place of the name differs between releases.
void read_deepstream_detections (GstBuffer *buffer, std::vector<Detection> &detections);

}  // namespace integralhist
