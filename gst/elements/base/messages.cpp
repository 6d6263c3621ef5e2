// SPDX-License-Identifier: LGPL-2.1-or-later
#include "messages.hpp"

#include <gst/integralhist/api/histogram.hpp>
#include <gst/integralhist/base/log.hpp>

namespace integralhist {

/// Returns the name of a function, without its type, namespaces and parameters.
static std::string short_name (std::string_view function)
{
  function = function.substr (0, function.find ('('));
  return std::string (function.substr (function.find_last_of (" :*") + 1));
}

static void post (gpointer element, GQuark domain, int code, const std::string &text,
                  const std::string &detail, const std::source_location &from)
{
  GST_WARNING_OBJECT (element, "error: %s%s%s", text.c_str (), detail.empty () ? "" : "\n",
                      detail.c_str ());
  gst_element_message_full (
      GST_ELEMENT (element), GST_MESSAGE_ERROR, domain, code, g_strdup (text.c_str ()),
      detail.empty () ? nullptr : g_strdup (detail.c_str ()), from.file_name (),
      short_name (from.function_name ()).c_str (), int (from.line ()));
}

void post_error (gpointer element, const Error &error, const char *doing, std::source_location from)
{
  const auto as = [&] (GQuark domain, int code, const std::string &before) {
    post (element, domain, code, joined (before, error.message, "."), error.detail, from);
  };
  switch (error.kind) {
    case Error::Kind::flushing:
      GST_DEBUG_OBJECT (element, "%s%s", doing, error.message.c_str ());
      break;
    case Error::Kind::bad_setting: as (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, ""); break;
    case Error::Kind::no_device: as (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND, ""); break;
    case Error::Kind::bad_frame: as (GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, ""); break;
    case Error::Kind::no_histogram: as (GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED, ""); break;
    case Error::Kind::no_threads: as (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED, doing); break;
    case Error::Kind::no_memory:
      as (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
          joined (doing, "Not enough memory: "));
      break;
    case Error::Kind::failed:
    case Error::Kind::timeout:
    case Error::Kind::not_downloaded:
    case Error::Kind::overflow:
    case Error::Kind::bad_question: as (GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_FAILED, doing); break;
  }
}

GstFlowReturn post_consumer_error (gpointer element, GstBuffer *buffer, const Error &error,
                                   const char *doing, std::source_location from)
{
  bool is_reported = false;
  gpointer state = nullptr;
  while (const GstMeta *meta = gst_buffer_iterate_meta_filtered (
             buffer, &state, GST_INTEGRAL_HISTOGRAM_META_API_TYPE)) {
    auto *const histogram = reinterpret_cast<const GstIntegralHistogramMeta *> (meta)->histogram;
    is_reported = is_reported || (histogram && tensor_of (histogram).flags->failure_reported);
  }
  if (is_reported)
    GST_WARNING_OBJECT (
        element, "giving up: the frame's producer has said why there is no integral histogram");
  else
    post_error (element, error, doing, from);
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
