/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/integralhist/gstintegralhistogram.h>

G_BEGIN_DECLS

/**
 * GST_INTEGRAL_IMAGE_LUT_EVENT: (skip)
 *
 * The structure name of the event that [func@integral_image_lut_event_new] creates. The field `lut`
 * of the structure is a [struct@GLib.Bytes] of 256 scores.
 *
 * Since: 0.2
 */
#define GST_INTEGRAL_IMAGE_LUT_EVENT "integral-image-lut"

/**
 * gst_integral_image_lut_event_new:
 * @scores: (array fixed-size=256): the score of each value of the producer's feature; for a joint
 * feature, of each combination ([method@IntegralHistogram.get_quantization])
 *
 * Creates an event that gives new scores to a cudaintegralimage upstream, for example from a
 * tracker whose model has changed. The scores apply from the next frame that reaches that element,
 * until the next such event or until the element's property `lut` is set. Earlier frames keep their
 * scores; see [method@IntegralHistogram.get_lut_seqnum].
 *
 * Send it with [method@Gst.Pad.push_event] from a sink pad, or with
 * [method@Gst.Element.send_event].
 *
 * Returns: (transfer full): the event, of type %GST_EVENT_CUSTOM_UPSTREAM
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
GstEvent *gst_integral_image_lut_event_new (const guint8 *scores);

/**
 * gst_integral_image_lut_event_parse:
 * @event: a #GstEvent
 * @error: return location for a #GError
 *
 * Reads the scores from an event of [func@integral_image_lut_event_new].
 *
 * Returns: (transfer full): the 256 scores, or %NULL with @error set to
 * %GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION if @event is not such an event with 256 scores
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
GBytes *gst_integral_image_lut_event_parse (GstEvent *event, GError **error);

G_END_DECLS
