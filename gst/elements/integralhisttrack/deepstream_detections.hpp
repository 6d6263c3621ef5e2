// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Detections of NVIDIA's DeepStream. nvinfer puts them into a list in the meta that nvstreammux
// attaches (NvDsBatchMeta). Reading it needs nothing from NVIDIA. The layout is that of DeepStream
// 5.0 to 9.1; it comes from the documentation and headers (docs/deepstream.md).
#pragma once

#include <vector>

#include <gst/gst.h>

#include <gst/track/base/detection.hpp>

namespace integralhist {

/// Appends the detections of a buffer whose batch has one frame. The class of a detection is given
/// as a number, because the place of the name differs between releases.
void read_deepstream_detections (GstBuffer *buffer, std::vector<Detection> &detections);

}  // namespace integralhist
