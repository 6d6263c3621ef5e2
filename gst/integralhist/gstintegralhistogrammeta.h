/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/integralhist/gstintegralhistogram.h>

G_BEGIN_DECLS

typedef struct _GstIntegralHistogramMeta GstIntegralHistogramMeta;

/**
 * GstIntegralHistogramMeta:
 * @meta: parent
 * @histogram: the integral histogram; shared by all copies of the buffer
 * @width: width of the frame that carries the meta, in pixels
 * @height: height of the frame that carries the meta, in pixels
 *
 * A frame's integral histogram, or summed-area table, on its buffer. A scaled copy of the frame
 * keeps it: @width and @height are then those of the copy, and
 * [method@IntegralHistogramMeta.region] takes coordinates of the copy. So does a copy that is
 * cropped, mirrored, turned by quarters, has borders or is part of a larger picture, from GStreamer
 * 1.28 on, where elements say what they did by a GstVideoMetaTransformMatrix. Earlier ones drop the
 * meta there. What shears the picture, or turns it by other angles, always drops it.
 *
 * The histogram is of the frame as it was where it was computed. Filters that change values and not
 * places keep the meta, as GStreamer has no word for that: videobalance, gamma, coloreffects,
 * overlays of texts and pictures, and an encoder with its decoder. docs/pipelines.md has the list.
 *
 * A buffer that passed several producers has several of them.
 */
struct _GstIntegralHistogramMeta {
  GstMeta meta;

  GstIntegralHistogram *histogram;
  guint width;
  guint height;

  /*< private >*/
  gpointer geometry;
};

#define GST_INTEGRAL_HISTOGRAM_META_API_TYPE (gst_integral_histogram_meta_api_get_type ())

/**
 * gst_integral_histogram_meta_api_get_type:
 *
 * The API of [struct@IntegralHistogramMeta], `GST_INTEGRAL_HISTOGRAM_META_API_TYPE` in C; with it
 * [method@Gst.Buffer.iterate_meta_filtered] finds all of a buffer.
 *
 * Returns: the type
 */
GST_INTEGRAL_HISTOGRAM_API GType gst_integral_histogram_meta_api_get_type (void);

/**
 * gst_integral_histogram_meta_get_info:
 *
 * What GStreamer knows of [struct@IntegralHistogramMeta]: its size, its tags, and what it does when
 * a buffer is copied.
 *
 * Returns: (transfer none): the description, which is static
 */
GST_INTEGRAL_HISTOGRAM_API const GstMetaInfo *gst_integral_histogram_meta_get_info (void);

/**
 * gst_buffer_add_integral_histogram_meta:
 * @buffer: a writable #GstBuffer
 * @histogram: (transfer none): the histogram of the frame in @buffer
 *
 * Attaches an integral histogram to a buffer, as the elements do.
 *
 * Returns: (transfer none): the meta, which holds a reference to @histogram
 */
GST_INTEGRAL_HISTOGRAM_API
GstIntegralHistogramMeta *gst_buffer_add_integral_histogram_meta (GstBuffer *buffer,
                                                                  GstIntegralHistogram *histogram);

/**
 * gst_buffer_get_integral_histogram_meta:
 * @buffer: a #GstBuffer
 *
 * Finds the histogram of a frame, where one will do. It may be of some of the bins alone, which
 * [method@IntegralHistogram.get_first_bin] says.
 *
 * Returns: (transfer none) (nullable): the first integral histogram of @buffer, or where it has
 * none its first of weights, or else its first summed-area table;
 * [method@Gst.Buffer.iterate_meta_filtered] finds all of them
 */
GST_INTEGRAL_HISTOGRAM_API
GstIntegralHistogramMeta *gst_buffer_get_integral_histogram_meta (GstBuffer *buffer);

/**
 * gst_buffer_get_integral_histogram_meta_of:
 * @buffer: a #GstBuffer
 * @content: what the planes shall add up
 *
 * Tells histograms from tables, where a buffer may carry both. One that is of more than a
 * [struct@GstVideo.VideoCropMeta] leaves visible is passed over, as a frame that is cropped has
 * none.
 *
 * Returns: (transfer none) (nullable): the first of @buffer with this content
 */
GST_INTEGRAL_HISTOGRAM_API
GstIntegralHistogramMeta *
gst_buffer_get_integral_histogram_meta_of (GstBuffer *buffer, GstIntegralHistogramContent content);

/**
 * gst_buffer_get_integral_histogram_meta_of_feature:
 * @buffer: a #GstBuffer
 * @feature: what of a pixel shall be counted
 *
 * Tells integral histograms from each other, where several elements have attached one of the same
 * frame. Whether they are cropped is looked at as in [func@buffer_get_integral_histogram_meta_of].
 * From 0.3 on those of some bins alone ([method@IntegralHistogram.get_first_bin]) are passed over:
 * [func@buffer_get_integral_histogram_meta] and [method@Gst.Buffer.iterate_meta_filtered] find
 * them.
 *
 * Returns: (transfer none) (nullable): the first of @buffer with counts, or weights, of all bins of
 * this feature
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
GstIntegralHistogramMeta *
gst_buffer_get_integral_histogram_meta_of_feature (GstBuffer *buffer,
                                                   GstIntegralHistogramFeature feature);

/**
 * gst_integral_histogram_meta_region:
 * @meta: a #GstIntegralHistogramMeta
 * @x: first column, in pixels of the frame that carries @meta
 * @y: first row
 * @width: columns
 * @height: rows
 * @n_counts: (out) (optional): number of counts, the bins
 * @error: return location for a #GError
 *
 * The histogram of a rectangle of the frame that carries @meta. On a scaled frame that is the
 * rectangle of the original frame whose edges are nearest, and the counts are in pixels of the
 * original. What is not of the original, as a border, counts nothing.
 *
 * Returns: (transfer full) (array length=n_counts): the counts, or %NULL with @error set; free with
 * [func@GLib.free]
 */
GST_INTEGRAL_HISTOGRAM_API
guint32 *gst_integral_histogram_meta_region (GstIntegralHistogramMeta *meta, gint x, gint y,
                                             gint width, gint height, gsize *n_counts,
                                             GError **error);

/**
 * gst_integral_histogram_meta_region_sums:
 * @meta: a #GstIntegralHistogramMeta
 * @x: first column, in pixels of the frame that carries @meta
 * @y: first row
 * @width: columns
 * @height: rows
 * @n_sums: (out) (optional): number of sums, the planes
 * @error: return location for a #GError
 *
 * [method@IntegralHistogram.region_sums] for a rectangle of the frame that carries @meta, as
 * [method@IntegralHistogramMeta.region].
 *
 * Returns: (transfer full) (array length=n_sums): the sums, or %NULL with @error set; free with
 * [func@GLib.free]
 */
GST_INTEGRAL_HISTOGRAM_API
guint64 *gst_integral_histogram_meta_region_sums (GstIntegralHistogramMeta *meta, gint x, gint y,
                                                  gint width, gint height, gsize *n_sums,
                                                  GError **error);

/**
 * gst_integral_histogram_meta_get_original:
 * @meta: a #GstIntegralHistogramMeta
 * @x: first column, in pixels of the frame that carries @meta
 * @y: first row
 * @width: columns
 * @height: rows
 * @original_x: (out) (optional): first column, in pixels of the frame that was computed
 * @original_y: (out) (optional): first row
 * @original_width: (out) (optional): columns
 * @original_height: (out) (optional): rows
 *
 * Says of which rectangle of the frame that was computed a rectangle of the frame that carries
 * @meta is made. Its edges are rounded to whole pixels, and what the frame does not show is left
 * out. The questions of [struct@IntegralHistogram], as [method@IntegralHistogram.regions], take it.
 *
 * Returns: %TRUE, or %FALSE with zeros where nothing of the rectangle is made of the original
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_meta_get_original (GstIntegralHistogramMeta *meta, gint x, gint y,
                                                   gint width, gint height, gint *original_x,
                                                   gint *original_y, gint *original_width,
                                                   gint *original_height);

G_END_DECLS
