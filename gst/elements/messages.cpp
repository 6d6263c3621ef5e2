// SPDX-License-Identifier: LGPL-2.1-or-later
#include "messages.hpp"

#include <gst/integralhist/histogram.hpp>

namespace integralhist {

void post_error (gpointer element, const Error &error, const char *doing)
{
  const char *const text = error.message.c_str ();
  switch (error.kind) {
    case Error::Kind::flushing: GST_DEBUG_OBJECT (element, "%s%s", doing, text); break;
    case Error::Kind::bad_setting:
      GST_ELEMENT_ERROR (element, RESOURCE, SETTINGS, ("%s.", text), (nullptr));
      break;
    case Error::Kind::no_device:
      GST_ELEMENT_ERROR (element, RESOURCE, NOT_FOUND, ("%s.", text), (nullptr));
      break;
    case Error::Kind::bad_frame:
      GST_ELEMENT_ERROR (element, STREAM, FORMAT, ("%s.", text), (nullptr));
      break;
    case Error::Kind::no_histogram:
      GST_ELEMENT_ERROR (element, STREAM, FAILED, ("%s.", text), (nullptr));
      break;
    case Error::Kind::no_threads:
      GST_ELEMENT_ERROR (element, RESOURCE, FAILED, ("%s%s.", doing, text), (nullptr));
      break;
    case Error::Kind::no_memory:
      GST_ELEMENT_ERROR (element, RESOURCE, NO_SPACE_LEFT,
                         ("%sNot enough memory: %s.", doing, text), (nullptr));
      break;
    default: GST_ELEMENT_ERROR (element, LIBRARY, FAILED, ("%s%s.", doing, text), (nullptr)); break;
  }
}

GstFlowReturn post_error_of_consumer (gpointer element, GstBuffer *buffer, const Error &error,
                                      const char *doing)
{
  const auto *meta =
      gst_buffer_get_integral_histogram_meta_of (buffer, GST_INTEGRAL_HISTOGRAM_CONTENT_BINS);
  if (meta && tensor_of (meta->histogram).failure_reported)
    GST_WARNING_OBJECT (
        element, "giving up: the frame's producer has said why there is no integral histogram");
  else
    post_error (element, error, doing);
  return flow_of (error);
}

GstFlowReturn flow_of (const Error &error)
{
  return error.kind == Error::Kind::flushing ? GST_FLOW_FLUSHING : GST_FLOW_ERROR;
}

FrameTimes FrameTimes::of (GstBaseTransform *trans, GstBuffer *buffer)
{
  const GstSegment *segment = &trans->segment;
  const GstClockTime pts = GST_BUFFER_PTS (buffer);
  const bool timed = segment->format == GST_FORMAT_TIME;
  return { pts,
           timed ? gst_segment_to_stream_time (segment, GST_FORMAT_TIME, pts) : GST_CLOCK_TIME_NONE,
           timed ? gst_segment_to_running_time (segment, GST_FORMAT_TIME, pts)
                 : GST_CLOCK_TIME_NONE,
           GST_BUFFER_DURATION (buffer) };
}

GstStructure *frame_message (const char *name, const FrameTimes &times)
{
  GstStructure *structure = gst_structure_new_empty (name);
  for (const auto &[field, time] :
       { std::pair ("timestamp", times.timestamp), std::pair ("stream-time", times.stream_time),
         std::pair ("running-time", times.running_time), std::pair ("duration", times.duration) })
    if (GST_CLOCK_TIME_IS_VALID (time))
      gst_structure_set (structure, field, G_TYPE_UINT64, time, nullptr);
  return structure;
}

void post_message (gpointer element, GstStructure *structure)
{
  gst_element_post_message (GST_ELEMENT (element),
                            gst_message_new_element (GST_OBJECT (element), structure));
}

}  // namespace integralhist
