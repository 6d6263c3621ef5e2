// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/video/video.h>

#include "load_shedder.hpp"

namespace integralhist {

/// Returns whether the source is live, as the elements before a sink pad say.
bool is_live (GstPad *sink);

/// Returns what the load shedder wants to know of a buffer of such video, which an element gets
/// `now`; `latency` is the pipeline's.
LoadShedder::Arrival arrival_of (GstBaseTransform *element, GstBuffer *buffer,
                                 const GstVideoInfo &info, GstClockTime latency, bool live,
                                 const LoadShedder::Moment &now);

}  // namespace integralhist
