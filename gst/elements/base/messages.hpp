// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Messages that elements post to the application: errors, and element messages about a frame.
#pragma once

#include <source_location>

#include <gst/base/gstbasetransform.h>

#include <gst/integralhist/base/error.hpp>
#include <gst/integralhist/gstintegralhistogrammeta.h>
#include <gst/properties/properties.hpp>

namespace integralhist {

/// Posts an Error as the error message of a GStreamer element. `doing` is a text such as "Tracking
/// failed: ", which some kinds of errors need in front. Error::Kind::flushing posts nothing. The
/// message's debug information names the caller.
void post_error (gpointer element, const Error &error, const char *doing = "",
                 std::source_location from = std::source_location::current ());

/// Posts the error of a result, if it has one. Returns whether it has one.
template <class T>
bool post_error_if_failed (gpointer element, const Expected<T> &result,
                           std::source_location from = std::source_location::current ())
{
  if (!result)
    post_error (element, result.error (), "", from);
  return !result;
}

/// Posts the error of an element that reads histograms, unless the producer of the frame has
/// already posted why there is no histogram. Returns the flow for the streaming thread.
GstFlowReturn post_consumer_error (gpointer element, GstBuffer *buffer, const Error &error,
                                   const char *doing = "",
                                   std::source_location from = std::source_location::current ());

GstFlowReturn flow_of (const Error &error);

/// The times of a video frame in nanoseconds; each of them may be GST_CLOCK_TIME_NONE.
struct FrameTimes {
  GstClockTime timestamp, stream_time, running_time, duration;

  static FrameTimes of (GstBaseTransform *trans, GstBuffer *buffer);
};

/// Makes the structure of an element message about a frame, with the frame's known times in
/// nanoseconds: `timestamp`, `stream-time`, `running-time`, `duration`.
GstStructure *frame_message (const char *name, const FrameTimes &times);
void post_message (gpointer element, GstStructure *structure);

template <class T>
GValue gvalue (T content)
{
  GValue value = G_VALUE_INIT;
  NumberType<T>::set (g_value_init (&value, NumberType<T>::kType), content);
  return value;
}

/// Returns a GstValueArray of `n` items; `element` is a function that returns the item of an index.
template <class Element>
GValue gvalue_array (std::size_t n, Element &&element)
{
  GValue values = G_VALUE_INIT;
  gst_value_array_init (&values, guint (n));
  for (std::size_t i = 0; i < n; i++) {
    GValue item = element (i);
    gst_value_array_append_and_take_value (&values, &item);
  }
  return values;
}

template <class Element>
void set_array (GstStructure *structure, const char *field, std::size_t n, Element &&element)
{
  GValue values = gvalue_array (n, element);
  gst_structure_take_value (structure, field, &values);
}

}  // namespace integralhist
