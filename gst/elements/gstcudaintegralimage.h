/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gstcudaintegral.h"

G_BEGIN_DECLS

#define GST_TYPE_CUDA_INTEGRAL_IMAGE (gst_cuda_integral_image_get_type ())
G_DECLARE_FINAL_TYPE (GstCudaIntegralImage, gst_cuda_integral_image, GST, CUDA_INTEGRAL_IMAGE,
                      GstCudaIntegral)

GST_ELEMENT_REGISTER_DECLARE (cudaintegralimage);

G_END_DECLS
