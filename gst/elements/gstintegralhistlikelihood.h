/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/video/gstvideofilter.h>

G_BEGIN_DECLS

#define GST_TYPE_INTEGRAL_HIST_LIKELIHOOD (gst_integral_hist_likelihood_get_type ())
G_DECLARE_FINAL_TYPE (GstIntegralHistLikelihood, gst_integral_hist_likelihood, GST,
                      INTEGRAL_HIST_LIKELIHOOD, GstVideoFilter)

GST_ELEMENT_REGISTER_DECLARE (integralhistlikelihood);

G_END_DECLS
