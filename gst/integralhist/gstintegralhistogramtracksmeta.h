/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/integralhist/gstintegralhistogram.h>

G_BEGIN_DECLS

typedef struct _GstIntegralHistogramTracksMeta GstIntegralHistogramTracksMeta;

/**
 * GstIntegralHistogramTracksMeta:
 * @meta: parent
 *
 * The tracks of a frame, on its buffer. `integralhisttrack` attaches them together with regions of
 * interest of type `track`. GStreamer does not send regions of interest, nor GstAnalytics' metas,
 * to other processes; gst_meta_serialize() (GStreamer 1.24) and unixfdsink send this meta. On
 * arrival it adds the regions of interest again, for elements such as integralhistoverlay.
 *
 * Scaled, cropped, mirrored and turned frames keep it, as they do a [struct@IntegralHistogramMeta].
 *
 * Since: 0.2
 */
struct _GstIntegralHistogramTracksMeta {
  GstMeta meta;

  /*< private >*/
  gpointer priv;
};

#define GST_INTEGRAL_HISTOGRAM_TRACKS_META_API_TYPE \
  (gst_integral_histogram_tracks_meta_api_get_type ())

/**
 * gst_integral_histogram_tracks_meta_api_get_type:
 *
 * The API of [struct@IntegralHistogramTracksMeta].
 *
 * Returns: the type
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API GType gst_integral_histogram_tracks_meta_api_get_type (void);

/**
 * gst_integral_histogram_tracks_meta_get_info:
 *
 * Describes [struct@IntegralHistogramTracksMeta] to GStreamer. A process that has called this can
 * receive the meta from another one.
 *
 * Returns: (transfer none): the description, which is static
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API const GstMetaInfo *gst_integral_histogram_tracks_meta_get_info (void);

/**
 * gst_buffer_add_integral_histogram_tracks_meta:
 * @buffer: a writable #GstBuffer
 * @width: width of the frame, in pixels
 * @height: height of the frame, in pixels
 *
 * Attaches a list of tracks, which [method@IntegralHistogramTracksMeta.add_track] fills.
 *
 * Returns: (transfer none) (nullable): the meta, without tracks yet; %NULL if a size is 0
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
GstIntegralHistogramTracksMeta *
gst_buffer_add_integral_histogram_tracks_meta (GstBuffer *buffer, guint width, guint height);

/**
 * gst_buffer_get_integral_histogram_tracks_meta:
 * @buffer: a #GstBuffer
 *
 * Finds the tracks of a frame.
 *
 * Returns: (transfer none) (nullable): the first meta of @buffer
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
GstIntegralHistogramTracksMeta *gst_buffer_get_integral_histogram_tracks_meta (GstBuffer *buffer);

/**
 * gst_integral_histogram_tracks_meta_add_track:
 * @meta: a #GstIntegralHistogramTracksMeta
 * @track: (transfer none): a structure with the fields `id` (uint), `x`, `y`, `width`, `height`
 * (int, in pixels), and if they are known `parent` (int), `confidence` (double), `lost` (boolean),
 * `class` (string), `detection-confidence` (double) and `former-id` (uint): as in the message
 * `integral-histogram-track`. Numbers may be of any type
 *
 * Adds a track to the list.
 *
 * Returns: %TRUE, or %FALSE if a field is missing or out of range
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_tracks_meta_add_track (GstIntegralHistogramTracksMeta *meta,
                                                       const GstStructure *track);

/**
 * gst_integral_histogram_tracks_meta_get_n_tracks:
 * @meta: a #GstIntegralHistogramTracksMeta
 *
 * Says how many tracks the meta has.
 *
 * Returns: the number of tracks, including lost ones
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
guint gst_integral_histogram_tracks_meta_get_n_tracks (GstIntegralHistogramTracksMeta *meta);

/**
 * gst_integral_histogram_tracks_meta_get_track:
 * @meta: a #GstIntegralHistogramTracksMeta
 * @index: which track
 *
 * Returns the fields of a track.
 *
 * Returns: (transfer full) (nullable): a structure `track` with the fields of
 * [method@IntegralHistogramTracksMeta.add_track], in pixels of the frame that carries @meta; %NULL
 * if @index is too large
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
GstStructure *gst_integral_histogram_tracks_meta_get_track (GstIntegralHistogramTracksMeta *meta,
                                                            guint index);

/**
 * gst_integral_histogram_tracks_meta_to_bytes:
 * @meta: a #GstIntegralHistogramTracksMeta
 * @error: return location for a #GError
 *
 * Writes the meta as bytes that are the same on every machine, for files and networks.
 * docs/pipelines.md has the format.
 *
 * Returns: (transfer full): the bytes, or %NULL with @error set
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
GBytes *gst_integral_histogram_tracks_meta_to_bytes (GstIntegralHistogramTracksMeta *meta,
                                                     GError **error);

/**
 * gst_buffer_add_integral_histogram_tracks_meta_from_bytes:
 * @buffer: a writable #GstBuffer
 * @bytes: the bytes that [method@IntegralHistogramTracksMeta.to_bytes] returned
 * @error: return location for a #GError
 *
 * Attaches the meta that @bytes describe, and a region of interest for each track that is not lost,
 * unless @buffer already has one with the id of the track.
 *
 * Returns: (transfer none): the meta, or %NULL with @error set,
 * %GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION if the bytes are no meta of this type, are cut off,
 * or have a later version
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
GstIntegralHistogramTracksMeta *
gst_buffer_add_integral_histogram_tracks_meta_from_bytes (GstBuffer *buffer, GBytes *bytes,
                                                          GError **error);

G_END_DECLS
