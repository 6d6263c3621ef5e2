/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

#define GST_TYPE_INTEGRAL_HIST_TRACK (gst_integral_hist_track_get_type ())
G_DECLARE_FINAL_TYPE (GstIntegralHistTrack, gst_integral_hist_track, GST, INTEGRAL_HIST_TRACK,
                      GstBaseTransform)

GST_ELEMENT_REGISTER_DECLARE (integralhisttrack);

G_END_DECLS
