// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/video/video.h>

#include "load_shedder.hpp"

namespace integralhist {

/// Returns whether the source is live, according to the elements before a sink pad.
bool is_live (GstPad *sink);

/// Returns the input of the load shedder for a buffer that reaches the element at `now`. `info` is
/// the video's format, `latency` the pipeline's latency.
LoadShedder::Arrival arrival_of (GstBaseTransform *element, GstBuffer *buffer,
                                 const GstVideoInfo &info, GstClockTime latency, bool live,
                                 const LoadShedder::Moment &now);

}  // namespace integralhist
