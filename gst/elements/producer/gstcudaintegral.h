/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/base/gstbasetransform.h>

#include <kernels/inthist.hpp>

G_BEGIN_DECLS

/* What the elements have in common: each frame passes at once, and carries the promise of a tensor.
 * A subclass calls gst_cuda_integral_class_compute() in its class_init. */

#define GST_TYPE_CUDA_INTEGRAL (gst_cuda_integral_get_type ())
G_DECLARE_DERIVABLE_TYPE (GstCudaIntegral, gst_cuda_integral, GST, CUDA_INTEGRAL, GstBaseTransform)

/**
 * GstCudaIntegralClass:
 * @content: what the planes of all of its tensors add up
 * @category: for the log, the element's own
 */
struct _GstCudaIntegralClass {
  GstBaseTransformClass parent_class;

  inthist::Content content;
  GstDebugCategory *category;
};

/* Has the elements compute such content, with the properties that go with it. */
void gst_cuda_integral_class_compute (GstCudaIntegralClass *klass, inthist::Content content,
                                      GstDebugCategory *category, const char *name,
                                      const char *summary);

G_END_DECLS
