/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/integralhist/gstintegralhistogram.h>

G_BEGIN_DECLS

/*
 * The tensor as an array of DLPack, https://dmlc.github.io/dlpack/latest/. NumPy, PyTorch, CuPy,
 * JAX and others use DLPack to share memory without a copy.
 */

/**
 * GstIntegralHistogramDLPackFlags:
 * @GST_INTEGRAL_HISTOGRAM_DLPACK_NONE: a `DLManagedTensorVersioned` of DLPack 1.0, in the memory
 * where the tensor lies
 * @GST_INTEGRAL_HISTOGRAM_DLPACK_UNVERSIONED: a `DLManagedTensor`, from before DLPack 1.0; it
 * cannot say that the memory is read-only
 * @GST_INTEGRAL_HISTOGRAM_DLPACK_SIGNED: elements are signed integers with the same bits, because
 * PyTorch has few operations for unsigned ones. Counts in the upper half of the range are then
 * negative; the difference of four corners is still right
 * @GST_INTEGRAL_HISTOGRAM_DLPACK_HOST: in host memory: a tensor on a GPU is copied to the host
 * once, as [method@IntegralHistogram.get_buffer] does
 *
 * Options for [method@IntegralHistogram.get_dlpack].
 *
 * Since: 0.2
 */
typedef enum {
  GST_INTEGRAL_HISTOGRAM_DLPACK_NONE = 0,
  GST_INTEGRAL_HISTOGRAM_DLPACK_UNVERSIONED = 1 << 0,
  GST_INTEGRAL_HISTOGRAM_DLPACK_SIGNED = 1 << 1,
  GST_INTEGRAL_HISTOGRAM_DLPACK_HOST = 1 << 2,
} GstIntegralHistogramDLPackFlags;

#define GST_TYPE_INTEGRAL_HISTOGRAM_DLPACK_FLAGS (gst_integral_histogram_dlpack_flags_get_type ())
GST_INTEGRAL_HISTOGRAM_API GType gst_integral_histogram_dlpack_flags_get_type (void);

/**
 * gst_integral_histogram_get_dlpack:
 * @histogram: a #GstIntegralHistogram
 * @flags: what to return
 * @stream: the stream that will read the tensor on a GPU: a cudaStream_t as a number, 1 for the
 * legacy default stream, 2 for the per-thread default stream, or -1 if nothing must wait; not 0,
 * which could be either default stream. Ignored for host memory
 * @error: return location for a #GError
 *
 * Returns the tensor as an array of DLPack, without a copy: uint32 or uint16 elements (bins,
 * height, width), read-only. Rows have gaps ([method@IntegralHistogram.get_row_pitch]), so the
 * array has strides. With 16-bit counters elements are modulo 65536; regions are exact.
 *
 * On a GPU this makes @stream wait for the tensor, and returns at once. In host memory this returns
 * when the tensor is computed. If the element computes on demand (property
 * `compute`), this call computes the tensor.
 *
 * The array holds a reference to @histogram. The owner of the array calls its `deleter` from any
 * thread when the array is no longer needed, even while work that reads the array is still running.
 * On a GPU the memory is neither written nor freed before all work is done that the streams of
 * [method@IntegralHistogram.get_cuda_context] have at that time. An array that is kept keeps the
 * memory: the producer waits for it at `max-tensors`.
 *
 * In Python, `__dlpack__` wraps the pointer into a capsule.
 *
 * Returns: (transfer full) (nullable): a `DLManagedTensorVersioned` or `DLManagedTensor`, or %NULL
 * with @error set: to %GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION for a @stream of 0, for a tensor
 * in tiles, for a tensor in several shards, and for a CUDA context that is not the primary one of
 * the device; or as in [method@IntegralHistogram.get_buffer]
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
gpointer gst_integral_histogram_get_dlpack (GstIntegralHistogram *histogram,
                                            GstIntegralHistogramDLPackFlags flags, gint64 stream,
                                            GError **error);

/**
 * gst_integral_histogram_get_dlpack_device:
 * @histogram: a #GstIntegralHistogram
 * @id: (out) (optional): the CUDA device; 0 in host memory
 * @error: return location for a #GError
 *
 * Says on which device [method@IntegralHistogram.get_dlpack] finds the tensor, in DLPack's numbers.
 * Pinned memory is reported as host memory, because few libraries accept DLPack's number for it.
 *
 * Returns: 1 (`kDLCPU`) in host memory, 2 (`kDLCUDA`) in a GPU's, or 0 with @error set if the
 * tensor is in several shards or could not be computed
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
gint gst_integral_histogram_get_dlpack_device (GstIntegralHistogram *histogram, gint *id,
                                               GError **error);

/**
 * gst_integral_histogram_dlpack_capsule_free: (skip)
 * @capsule: a `PyObject` that holds an array
 *
 * The destructor for Python capsules: calls the array's deleter if no consumer has taken the array
 * out of the capsule. It looks up Python's functions at run time, because this library does not
 * link to Python.
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
void gst_integral_histogram_dlpack_capsule_free (gpointer capsule);

G_END_DECLS
