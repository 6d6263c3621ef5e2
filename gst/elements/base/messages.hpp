// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Messages from the elements to the application: errors, and the times of a frame.
#pragma once

#include <gst/base/gstbasetransform.h>

#include <gst/integralhist/base/error.hpp>
#include <gst/integralhist/gstintegralhistogrammeta.h>

namespace integralhist {

/// Posts an element error, with `doing` in front if the error's kind needs it. Posts nothing for
/// Error::Kind::flushing.
void post_error (gpointer element, const Error &error, const char *doing = "");

/// Posts an error like post_error (), unless the frame's producer has already posted why there is
/// no histogram. Returns flow_of ().
GstFlowReturn post_error_of_consumer (gpointer element, GstBuffer *buffer, const Error &error,
                                      const char *doing = "");

/// Returns the flow for a streaming thread that met an error.
GstFlowReturn flow_of (const Error &error);

/// The times of a frame; each may be unknown.
struct FrameTimes {
  GstClockTime timestamp, stream_time, running_time, duration;

  static FrameTimes of (GstBaseTransform *trans, GstBuffer *buffer);
};

/// Returns the structure of an element message with the known times, in nanoseconds: `timestamp`,
/// `stream-time`, `running-time`, `duration`.
GstStructure *frame_message (const char *name, const FrameTimes &times);
/// Posts an element message.
void post_message (gpointer element, GstStructure *structure);

/// Returns a GValue of the type `type`, which `set` has set to `content`.
template <class T>
GValue gvalue (GType type, void (*set) (GValue *, T), T content)
{
  GValue value = G_VALUE_INIT;
  set (g_value_init (&value, type), content);
  return value;
}

/// Returns a GstValueArray of n items, which element (0) to element (n - 1) return.
template <class Element>
GValue gvalue_array (std::size_t n, Element &&element)
{
  GValue values = G_VALUE_INIT;
  gst_value_array_init (&values, guint (n));
  for (std::size_t i = 0; i < n; i++) {
    GValue one = element (i);
    gst_value_array_append_and_take_value (&values, &one);
  }
  return values;
}

/// Sets a field of the structure to an array as gvalue_array () makes it.
template <class Element>
void set_array (GstStructure *structure, const char *field, std::size_t n, Element &&element)
{
  GValue values = gvalue_array (n, element);
  gst_structure_take_value (structure, field, &values);
}

}  // namespace integralhist
