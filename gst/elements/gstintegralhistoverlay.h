/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

#define GST_TYPE_INTEGRAL_HIST_OVERLAY (gst_integral_hist_overlay_get_type ())
G_DECLARE_FINAL_TYPE (GstIntegralHistOverlay, gst_integral_hist_overlay, GST, INTEGRAL_HIST_OVERLAY,
                      GstBaseTransform)

GST_ELEMENT_REGISTER_DECLARE (integralhistoverlay);

G_END_DECLS
