// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames of a pipeline for dlpack.py: a Python with PyTorch may lack the GObject bindings. It calls
// these functions by ctypes, and those of the library.
#include <gst/app/gstappsink.h>
#if HAVE_GSTCUDA
#ifndef GST_USE_UNSTABLE_API
#define GST_USE_UNSTABLE_API
#endif
#include <gst/cuda/gstcudacontext.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudautils.h>
#endif
#include <gst/integralhist/api/dlpack.hpp>
#include <gst/integralhist/gstintegralhist.h>

#define EXPORT extern "C" __attribute__ ((visibility ("default")))

using integralhist::dlpack::Versioned;

namespace {

/// Prints what went wrong, which is then all that is known of it.
void print_error (GstElement *pipeline)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  g_autoptr (GstMessage) message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  if (!message)
    return;
  g_autoptr (GError) error = nullptr;
  gst_message_parse_error (message, &error, nullptr);
  g_printerr ("%s\n", error->message);
}

}  // namespace

/// Gives the pipeline a CUDA context that is not the primary one, as an application may.
EXPORT int dlpack_frames_set_own_context (GstElement *pipeline)
{
#if HAVE_GSTCUDA
  if (!gst_cuda_load_library ())
    return FALSE;
  GstCudaContext *const own = gst_cuda_context_new (0);
  if (!own)
    return FALSE;
  g_autoptr (GstContext) context = gst_context_new_cuda_context (own);
  gst_object_unref (own);
  gst_element_set_context (pipeline, context);
  return TRUE;
#else
  (void) pipeline;
  return FALSE;
#endif
}

/// Makes a pipeline with an appsink called "sink"; null if that fails.
EXPORT GstElement *dlpack_frames_open (const char *line)
{
  gst_init (nullptr, nullptr);
  g_autoptr (GError) error = nullptr;
  GstElement *pipeline = gst_parse_launch (line, &error);
  if (error) {
    g_printerr ("%s\n", error->message);
    gst_clear_object (&pipeline);
    return nullptr;
  }
  return pipeline;
}

/// Returns the next frame's histogram; null at the end. (transfer full)
EXPORT GstIntegralHistogram *dlpack_frames_next (GstElement *pipeline)
{
  g_autoptr (GstElement) sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  g_autoptr (GstSample) sample =
      gst_app_sink_try_pull_sample (GST_APP_SINK (sink), 60 * GST_SECOND);
  if (!sample) {
    print_error (pipeline);
    return nullptr;
  }
  GstIntegralHistogramMeta *const meta =
      gst_buffer_get_integral_histogram_meta (gst_sample_get_buffer (sample));
  return meta ? gst_integral_histogram_ref (meta->histogram) : nullptr;
}

EXPORT void dlpack_frames_start (GstElement *pipeline)
{
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
}

EXPORT void dlpack_frames_close (GstElement *pipeline)
{
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
}

/// Makes an array's deleter drop only the reference, so that the memory is not kept for streams
/// that still read it. The test must notice.
EXPORT void dlpack_frames_forget_readers (Versioned *array, GstIntegralHistogram *histogram)
{
  // the array's own owner and shape stay for good
  array->owner = histogram;
  array->deleter = [] (Versioned *self) {
    gst_integral_histogram_unref (static_cast<GstIntegralHistogram *> (self->owner));
  };
}
