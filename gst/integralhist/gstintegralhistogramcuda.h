/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/integralhist/gstintegralhistogram.h>

G_BEGIN_DECLS

/*
 * The tensor in a GPU's memory, for CUDA callers: where the tensor lies, when it is computed, and
 * how long its memory must stay unchanged.
 */

/**
 * gst_integral_histogram_get_device_pointer:
 * @histogram: a #GstIntegralHistogram
 *
 * Returns the address of the tensor, for CUDA callers. The layout is that of
 * [method@IntegralHistogram.get_buffer]. Order your work after
 * [method@IntegralHistogram.get_cuda_event]. Then call [method@IntegralHistogram.add_reader], or
 * keep a reference until the work is done.
 *
 * Returns: the address in [method@IntegralHistogram.get_cuda_context], or 0 in host memory
 */
GST_INTEGRAL_HISTOGRAM_API
guint64 gst_integral_histogram_get_device_pointer (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_cuda_event:
 * @histogram: a #GstIntegralHistogram
 *
 * Returns the event that CUDA callers wait for before they read the tensor.
 *
 * Returns: (transfer none) (nullable): the cudaEvent_t that fires when the tensor is computed, for
 * cudaStreamWaitEvent(); %NULL in host memory
 */
GST_INTEGRAL_HISTOGRAM_API
gpointer gst_integral_histogram_get_cuda_event (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_cuda_context:
 * @histogram: a #GstIntegralHistogram
 *
 * Returns the context in which [method@IntegralHistogram.get_device_pointer] is a valid address.
 *
 * Returns: (transfer none) (nullable): the CUcontext of tensor and event; %NULL in host memory
 */
GST_INTEGRAL_HISTOGRAM_API
gpointer gst_integral_histogram_get_cuda_context (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_cuda_device:
 * @histogram: a #GstIntegralHistogram
 *
 * Says on which GPU the tensor lies.
 *
 * Returns: the number of the GPU that the tensor is on, or -1 when it is in host memory
 */
GST_INTEGRAL_HISTOGRAM_API
gint gst_integral_histogram_get_cuda_device (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_add_reader:
 * @histogram: a #GstIntegralHistogram on a GPU
 * @stream: (nullable): a cudaStream_t of [method@IntegralHistogram.get_cuda_context]; %NULL is the
 * legacy default stream
 * @error: return location for a #GError
 *
 * Says that work which is already enqueued on @stream reads the tensor's memory. The caller may
 * then drop the last reference at once: the memory is neither written nor freed before that work is
 * done. Call this after enqueueing, on the whole tensor or on a shard. Without this call, keep a
 * reference until the work is done; otherwise the next frame may overwrite memory in use.
 *
 * Questions that answer on a stream call this themselves.
 *
 * Returns: %TRUE, or %FALSE with @error set if the tensor is in host memory or in several shards
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_add_reader (GstIntegralHistogram *histogram, gpointer stream,
                                            GError **error);

G_END_DECLS
