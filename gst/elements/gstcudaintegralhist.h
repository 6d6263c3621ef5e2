/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gstcudaintegral.h"

G_BEGIN_DECLS

#define GST_TYPE_CUDA_INTEGRAL_HIST (gst_cuda_integral_hist_get_type ())
G_DECLARE_FINAL_TYPE (GstCudaIntegralHist, gst_cuda_integral_hist, GST, CUDA_INTEGRAL_HIST,
                      GstCudaIntegral)

GST_ELEMENT_REGISTER_DECLARE (cudaintegralhist);

G_END_DECLS
