// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/video/video.h>

#include "load_shedder.hpp"

namespace integralhist {

/// Returns whether the source of a pipeline is live, by a latency query upstream of a sink pad.
bool is_live (GstPad *sink);

/// Returns what the load shedder must know of a buffer that reaches the element at `now`. `info` is
/// the video's format, `latency` the pipeline's latency in nanoseconds.
LoadShedder::Arrival arrival_of (GstBaseTransform *element, GstBuffer *buffer,
                                 const GstVideoInfo &info, GstClockTime latency, bool live,
                                 const LoadShedder::Moment &now);

}  // namespace integralhist
