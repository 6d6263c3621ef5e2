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
 * The integral histogram of a frame, or its summed-area table, on the frame's buffer. A scaled copy
 * of the frame keeps the meta: @width and @height are then those of the copy, and
 * [method@IntegralHistogramMeta.region] takes coordinates of the copy. From GStreamer 1.28 on,
 * copies that are cropped, mirrored, turned by quarters, have borders or are part of a larger
 * picture also keep it, if the element describes the change with a GstVideoMetaTransformMatrix.
 * Earlier versions drop the meta from such copies. A filter that shears the picture, or turns it by
 * other angles, always drops it.
 *
 * The histogram describes the frame at the place in the pipeline where it was computed. Filters
 * that change values but not positions keep the meta, because GStreamer cannot express such a
 * change: videobalance, gamma, coloreffects, overlays of texts and pictures, and an encoder with
 * its decoder. docs/pipelines.md has the list.
 *
 * A buffer that passed several producers has several such metas.
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
 * The API of [struct@IntegralHistogramMeta], `GST_INTEGRAL_HISTOGRAM_META_API_TYPE` in C. With it,
 * [method@Gst.Buffer.iterate_meta_filtered] finds all such metas of a buffer.
 *
 * Returns: the type
 */
GST_INTEGRAL_HISTOGRAM_API GType gst_integral_histogram_meta_api_get_type (void);

/**
 * gst_integral_histogram_meta_get_info:
 *
 * Describes [struct@IntegralHistogramMeta] to GStreamer: its size, its tags, and what happens to it
 * when a buffer is copied.
 *
 * Returns: (transfer none): the description, which is static
 */
GST_INTEGRAL_HISTOGRAM_API const GstMetaInfo *gst_integral_histogram_meta_get_info (void);

/**
 * gst_buffer_add_integral_histogram_meta:
 * @buffer: a writable #GstBuffer
 * @histogram: (transfer none): the histogram of the frame in @buffer
 *
 * Attaches an integral histogram to a buffer.
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
 * Finds the histogram of a frame, if any of them will do. It may have only some of the bins, which
 * [method@IntegralHistogram.get_first_bin] says.
 *
 * Returns: (transfer none) (nullable): the first integral histogram of @buffer; if it has none, the
 * first histogram of weights; if it has neither, the first summed-area table.
 * [method@Gst.Buffer.iterate_meta_filtered] finds all of them
 */
GST_INTEGRAL_HISTOGRAM_API
GstIntegralHistogramMeta *gst_buffer_get_integral_histogram_meta (GstBuffer *buffer);

/**
 * gst_buffer_get_integral_histogram_meta_of:
 * @buffer: a #GstBuffer
 * @content: what the planes shall add up
 *
 * Finds a histogram by its content, if a buffer may carry both histograms and tables. If a
 * [struct@GstVideo.VideoCropMeta] hides part of what a histogram covers, that histogram is skipped,
 * because a cropped frame has no histogram of its own.
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
 * Finds a histogram by its feature, if several elements have attached histograms of the same frame.
 * Cropped frames are treated as in [func@buffer_get_integral_histogram_meta_of]. From 0.3 on,
 * histograms with only some of the bins ([method@IntegralHistogram.get_first_bin]) are skipped;
 * [method@Gst.Buffer.iterate_meta_filtered] finds all histograms.
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
 * Returns the histogram of a rectangle of the frame that carries @meta. On a scaled frame that is
 * the rectangle of the original frame whose edges are nearest, and the counts are in pixels of the
 * original. Pixels that the original does not have, such as a border, count nothing.
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
 * Does what [method@IntegralHistogram.region_sums] does, for a rectangle of the frame that carries
 * @meta; see [method@IntegralHistogramMeta.region].
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
 * Finds the rectangle of the computed frame from which a rectangle of the frame that carries @meta
 * was made. Its edges are rounded to whole pixels, and parts that the frame does not show are left
 * out. Questions such as [method@IntegralHistogram.regions] take the found rectangle.
 *
 * Returns: %TRUE, or %FALSE with zeros if no part of the rectangle comes from the original
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_meta_get_original (GstIntegralHistogramMeta *meta, gint x, gint y,
                                                   gint width, gint height, gint *original_x,
                                                   gint *original_y, gint *original_width,
                                                   gint *original_height);

G_END_DECLS
