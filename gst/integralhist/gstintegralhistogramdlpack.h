/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/integralhist/gstintegralhistogram.h>

G_BEGIN_DECLS

/*
 * The tensor as an array of DLPack, https://dmlc.github.io/dlpack/latest/, by which NumPy, PyTorch,
 * CuPy, JAX and others take memory of each other without a copy.
 */

/**
 * GstIntegralHistogramDLPackFlags:
 * @GST_INTEGRAL_HISTOGRAM_DLPACK_NONE: a `DLManagedTensorVersioned` of DLPack 1.0, of where the
 * tensor lies
 * @GST_INTEGRAL_HISTOGRAM_DLPACK_UNVERSIONED: a `DLManagedTensor`, as before DLPack 1.0; it cannot
 * say that the memory may only be read
 * @GST_INTEGRAL_HISTOGRAM_DLPACK_SIGNED: elements are signed integers, of the same bits: PyTorch
 * computes little with unsigned ones. Counts from half of the range on are negative then; the
 * difference of four corners is right all the same
 * @GST_INTEGRAL_HISTOGRAM_DLPACK_HOST: in host memory: a tensor on a GPU is copied there, once, as
 * by [method@IntegralHistogram.get_buffer]
 *
 * What [method@IntegralHistogram.get_dlpack] returns.
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
 * @stream: what will read the tensor on a GPU: a cudaStream_t as a number, 1 for the legacy default
 * stream, 2 for the per-thread default stream, or -1 for nothing that needs to be waited for; not
 * 0, which could be either default stream. It does not matter in host memory
 * @error: return location for a #GError
 *
 * The tensor as an array of DLPack, without a copy: uint32 or uint16 elements (bins, height,
 * width), which may only be read. Rows have gaps, as [method@IntegralHistogram.get_row_pitch] says,
 * so strides are given. With 16-bit counters elements are modulo 65536; regions are exact.
 *
 * On a GPU @stream is made to wait for the tensor, and this returns at once. In host memory this
 * returns when the tensor is computed. A tensor that is computed when somebody asks is computed
 * now.
 *
 * The array holds a reference to @histogram. Whoever has it calls its `deleter` when he needs it no
 * longer, from any thread; work that he has enqueued may still run then. On a GPU the memory is not
 * written again, nor freed, before all is done that any stream of
 * [method@IntegralHistogram.get_cuda_context] has been given by then. An array that is kept keeps
 * the memory: the producer waits for it at `max-tensors`.
 *
 * In Python, `__dlpack__` wraps the pointer into a capsule.
 *
 * Returns: (transfer full) (nullable): a `DLManagedTensorVersioned` or `DLManagedTensor`, or %NULL
 * with @error set: to %GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION for a @stream of 0, for a tensor
 * in tiles, for one in several shards, and for one of another CUDA context than the device's
 * primary one; or as in [method@IntegralHistogram.get_buffer]
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
 * Where [method@IntegralHistogram.get_dlpack] finds the tensor, by the numbers of DLPack. Pinned
 * memory is host memory, too: few libraries take its own number.
 *
 * Returns: 1 (`kDLCPU`) in host memory, 2 (`kDLCUDA`) in a GPU's, or 0 with @error set where it is
 * in several shards or could not be computed
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
gint gst_integral_histogram_get_dlpack_device (GstIntegralHistogram *histogram, gint *id,
                                               GError **error);

/**
 * gst_integral_histogram_dlpack_capsule_free: (skip)
 * @capsule: a `PyObject` in which an array is
 *
 * The destructor for capsules of Python: calls the array's deleter where nobody has taken the array
 * out of the capsule. It looks up functions of Python, to which this library is not linked.
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
void gst_integral_histogram_dlpack_capsule_free (gpointer capsule);

G_END_DECLS
