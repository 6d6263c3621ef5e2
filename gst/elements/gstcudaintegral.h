/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/base/gstbasetransform.h>

#include <gst/integralhist/error.hpp>

G_BEGIN_DECLS

/* What the elements have in common: each frame passes at once, and carries the promise of a tensor.
 * A subclass says of which, and calls install_properties_for (settings.hpp). */

#define GST_TYPE_CUDA_INTEGRAL (gst_cuda_integral_get_type ())
G_DECLARE_DERIVABLE_TYPE (GstCudaIntegral, gst_cuda_integral, GST, CUDA_INTEGRAL, GstBaseTransform)

/**
 * GstCudaIntegralClass:
 * @shape: what to compute, all but the frame's size, as the properties say at the time, or what is
 * wrong with them. Called once for each start, without a lock.
 * @content: what the planes of all of its tensors add up
 * @category: for the log, the element's own
 */
struct _GstCudaIntegralClass {
  GstBaseTransformClass parent_class;

  integralhist::Expected<inthist::Shape> (*shape) (GstCudaIntegral *self);
  inthist::Content content;
  GstDebugCategory *category;
};

G_END_DECLS
