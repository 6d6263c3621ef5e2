// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the elements share in saying things to the application: errors, and the times of a frame.
#pragma once

#include <atomic>

#include <gst/base/gstbasetransform.h>
#include <gst/integralhist/engine.hpp>
#include <gst/integralhist/gstintegralhistogrammeta.h>

namespace integralhist {

/// Posts an element error, its domain and code by the kind of error; `doing` comes first. One of
/// Error::Kind::flushing is nobody's business.
void post_error (gpointer element, const Error &error, const char *doing = "");

/// Posts it unless the frame's producer has told the application why there is no histogram.
void post_error_of_consumer (gpointer element, GstBuffer *buffer, const Error &error,
                             const char *doing = "");

/// What a streaming thread returns with an error.
GstFlowReturn flow_of (const Error &error);

/// Times of a frame, none of which need be known.
struct FrameTimes {
  GstClockTime timestamp, stream_time, running_time, duration;

  static FrameTimes of (GstBaseTransform *trans, GstBuffer *buffer);
};

/// Returns an element message's structure with the times that are known: `timestamp`,
/// `stream-time`, `running-time`, `duration`, in nanoseconds.
GstStructure *frame_message (const char *name, const FrameTimes &times);

}  // namespace integralhist
