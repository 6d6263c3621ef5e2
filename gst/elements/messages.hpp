// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the elements share in saying things to the application: errors, and the times of a frame.
#pragma once

#include <atomic>
#include <new>
#include <stdexcept>

#include <gst/base/gstbasetransform.h>
#include <gst/integralhist/engine.hpp>
#include <gst/integralhist/gstintegralhistogrammeta.h>

namespace integralhist {

/// Runs `body` and makes an element error of what it throws; `failed` is returned then. `doing` is put before what went wrong inside.
template <class Result, class Body>
Result
guarded (gpointer self, Result failed, Body &&body, const char *doing = "")
{
  try {
    return body ();
  } catch (const std::invalid_argument &error) {
    GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS, ("%s.", error.what ()), (nullptr));
  } catch (const Error &error) {
    if (error.code == GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY)
      GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT, ("%sNot enough memory: %s.", doing, error.what ()), (nullptr));
    else
      GST_ELEMENT_ERROR (self, LIBRARY, FAILED, ("%s%s.", doing, error.what ()), (nullptr));
  } catch (const std::bad_alloc &) {
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT, ("%sNot enough memory on the host.", doing), (nullptr));
  } catch (const std::exception &error) {
    GST_ELEMENT_ERROR (self, LIBRARY, FAILED, ("%s%s.", doing, error.what ()), (nullptr));
  }
  return failed;
}

/// The same, where others that run into the same trouble may have told it already, or will.
template <class Result, class Body>
Result
guarded_once (std::atomic<bool> &told, gpointer self, Result failed, Body &&body)
{
  try {
    return body ();
  } catch (...) {
    if (!told.exchange (true))
      guarded (self, failed, [] () -> Result { throw; });
  }
  return failed;
}

/// The same for who asks the histogram that a buffer carries: says nothing where its producer has said why there is none.
template <class Result, class Body>
Result
guarded_asking (GstBuffer *buffer, gpointer self, Result failed, Body &&body, const char *doing = "")
{
  try {
    return body ();
  } catch (...) {
    const auto *meta = gst_buffer_get_integral_histogram_meta_of (buffer, GST_INTEGRAL_HISTOGRAM_CONTENT_BINS);
    if (meta && tensor_of (meta->histogram).failure_told)
      GST_WARNING_OBJECT (self, "giving up: the frame's producer has said why there is no integral histogram");
    else
      guarded (
          self, failed, [] () -> Result { throw; }, doing);
  }
  return failed;
}

/// An element message with the times of a frame: timestamp, stream-time, running-time, duration.
inline GstStructure *
frame_message (GstBaseTransform *trans, const char *name, GstBuffer *buffer)
{
  const GstSegment &segment = trans->segment;
  const GstClockTime pts = GST_BUFFER_PTS (buffer);
  const bool timed = segment.format == GST_FORMAT_TIME;
  return gst_structure_new (name, "timestamp", G_TYPE_UINT64, pts, "stream-time", G_TYPE_UINT64,
                            timed ? gst_segment_to_stream_time (&segment, GST_FORMAT_TIME, pts) : GST_CLOCK_TIME_NONE, "running-time",
                            G_TYPE_UINT64, timed ? gst_segment_to_running_time (&segment, GST_FORMAT_TIME, pts) : GST_CLOCK_TIME_NONE,
                            "duration", G_TYPE_UINT64, GST_BUFFER_DURATION (buffer), nullptr);
}

}  // namespace integralhist
