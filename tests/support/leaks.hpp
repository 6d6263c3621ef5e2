// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Fails a test after which the leaks tracer of GStreamer knows of objects that are alive.
#pragma once

#include <string>

#include "test.hpp"  // last: it has macros with names of the standard library

/// Loads the tracer, if this object is made before GStreamer starts.
struct WatchedLeaks {
  WatchedLeaks ()
  {
    g_setenv (
        "GST_TRACERS",
        "leaks(filters=\"GstIntegralHistogram,GstBuffer,GstSample,GstMessage,GstElement,GstPad\")",
        TRUE);
  }
};

inline GstTracer *leaks_tracer ()
{
  GstTracer *found = nullptr;
  GList *tracers = gst_tracing_get_active_tracers ();
  for (GList *at = tracers; at; at = at->next)
    if (g_str_equal (G_OBJECT_TYPE_NAME (at->data), "GstLeaksTracer"))
      found = GST_TRACER (gst_object_ref (at->data));
  g_list_free_full (tracers, gst_object_unref);
  return found;
}

/// Returns the types of all objects that are alive.
inline std::string alive (GstTracer *tracer)
{
  g_autoptr (GstStructure) structure = nullptr;
  g_signal_emit_by_name (tracer, "get-live-objects", &structure);
  const GValue *list = gst_structure_get_value (structure, "live-objects-list");
  std::string types;
  for (guint i = 0; i < gst_value_list_get_size (list); i++) {
    const GValue *object = gst_structure_get_value (
        gst_value_get_structure (gst_value_list_get_value (list, i)), "object");
    types += std::string (" ")
             + (G_VALUE_HOLDS_OBJECT (object) ? G_OBJECT_TYPE_NAME (g_value_get_object (object))
                                              : G_VALUE_TYPE_NAME (object));
  }
  return types;
}

/// Fails if an object of a test stays alive after it. An engine that computes promised frames may
/// go on for a while after a pipeline has stopped, longer if the machine has other work.
inline void fail_on_leaks ()
{
  g_autoptr (GstTracer) tracer = leaks_tracer ();
  fail_unless (tracer != nullptr, "GStreamer has no tracer of leaks");
  const gint64 end = g_get_monotonic_time () + 20 * G_USEC_PER_SEC;
  std::string left;
  while (left = alive (tracer), !left.empty () && g_get_monotonic_time () < end)
    g_usleep (10000);
  fail_unless (left.empty (), "left alive:%s", left.c_str ());
}
