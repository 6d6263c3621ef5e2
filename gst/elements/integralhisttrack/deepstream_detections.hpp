// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Detections of NVIDIA's DeepStream: nvinfer puts them into a list behind the meta that nvstreammux
// attaches (NvDsBatchMeta). Nothing of NVIDIA's is needed to read it. The layout is that of
// DeepStream 5.0 to 9.1, facts from its documentation and headers (docs/deepstream.md).
#pragma once

#include <vector>

#include <gst/gst.h>

#include <gst/track/base/detection.hpp>

namespace integralhist {

/// Appends the detections of a buffer with the meta of one frame. Their class is the class's
/// number: where its name lies differs from release to release.
void read_deepstream_detections (GstBuffer *buffer, std::vector<Detection> &detections);

}  // namespace integralhist
