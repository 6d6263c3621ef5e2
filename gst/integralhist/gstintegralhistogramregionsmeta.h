/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/integralhist/gstintegralhistogram.h>

G_BEGIN_DECLS

typedef struct _GstIntegralHistogramRegionsMeta GstIntegralHistogramRegionsMeta;

/**
 * GstIntegralHistogramRegionsMeta:
 * @meta: parent
 *
 * The histograms, or sums, of a frame's regions, on its buffer. A producer attaches this meta if
 * its property `regions` is set. Unlike a [struct@IntegralHistogramMeta], gst_meta_serialize()
 * (GStreamer 1.24) and unixfdsink can send it to other processes and write it into files. The
 * tensor is not sent.
 *
 * The meta waits for the numbers only when a program asks for them or serialises them. Copies of
 * the buffer share them. Scaled, cropped, mirrored and turned frames keep the meta, as they do a
 * [struct@IntegralHistogramMeta]: the rectangles then say where the regions lie in the new frame,
 * and the numbers stay those of the computed frame.
 *
 * A receiving process must know the meta. If the plugin is installed, this is so from GStreamer
 * 1.28 on. With earlier versions the process must first use an element of the plugin or
 * `gst_integral_histogram_regions_meta_get_info ()`.
 *
 * Since: 0.2
 */
struct _GstIntegralHistogramRegionsMeta {
  GstMeta meta;

  /*< private >*/
  gpointer priv;
};

#define GST_INTEGRAL_HISTOGRAM_REGIONS_META_API_TYPE \
  (gst_integral_histogram_regions_meta_api_get_type ())

/**
 * gst_integral_histogram_regions_meta_api_get_type:
 *
 * The API of [struct@IntegralHistogramRegionsMeta].
 *
 * Returns: the type
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API GType gst_integral_histogram_regions_meta_api_get_type (void);

/**
 * gst_integral_histogram_regions_meta_get_info:
 *
 * Describes [struct@IntegralHistogramRegionsMeta] to GStreamer. A process that has called this can
 * receive the meta from another one.
 *
 * Returns: (transfer none): the description, which is static
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
const GstMetaInfo *gst_integral_histogram_regions_meta_get_info (void);

/**
 * gst_buffer_add_integral_histogram_regions_meta:
 * @buffer: a writable #GstBuffer
 * @histogram: (transfer none): the histogram of the frame in @buffer
 * @coordinates: (array length=n_coordinates): x, y, width, height of each region, in pixels
 * @n_coordinates: four times the number of regions
 *
 * Attaches regions to a buffer. The meta asks @histogram for the numbers when a program needs them.
 *
 * Returns: (transfer none) (nullable): the meta, which holds a reference to @histogram until it has
 * asked for the numbers; %NULL if @coordinates is not a list of rectangles
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
GstIntegralHistogramRegionsMeta *
gst_buffer_add_integral_histogram_regions_meta (GstBuffer *buffer, GstIntegralHistogram *histogram,
                                                const gint *coordinates, gsize n_coordinates);

/**
 * gst_buffer_get_integral_histogram_regions_meta:
 * @buffer: a #GstBuffer
 *
 * Finds the regions of a frame.
 *
 * Returns: (transfer none) (nullable): the first meta of @buffer;
 * [method@Gst.Buffer.iterate_meta_filtered] finds all of them
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
GstIntegralHistogramRegionsMeta *gst_buffer_get_integral_histogram_regions_meta (GstBuffer *buffer);

/**
 * gst_integral_histogram_regions_meta_get_n_regions:
 * @meta: a #GstIntegralHistogramRegionsMeta
 *
 * Says how many regions the meta has.
 *
 * Returns: how many regions there are
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
guint gst_integral_histogram_regions_meta_get_n_regions (GstIntegralHistogramRegionsMeta *meta);

/**
 * gst_integral_histogram_regions_meta_get_content:
 * @meta: a #GstIntegralHistogramRegionsMeta
 *
 * Says whether the numbers are counts, sums or weights.
 *
 * Returns: what the numbers are: counts, sums or weights
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
GstIntegralHistogramContent
gst_integral_histogram_regions_meta_get_content (GstIntegralHistogramRegionsMeta *meta);

/**
 * gst_integral_histogram_regions_meta_get_feature:
 * @meta: a #GstIntegralHistogramRegionsMeta
 *
 * Says which feature's values make the bins, as [method@IntegralHistogram.get_feature] does.
 *
 * Returns: the feature of a pixel that was counted
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
GstIntegralHistogramFeature
gst_integral_histogram_regions_meta_get_feature (GstIntegralHistogramRegionsMeta *meta);

/**
 * gst_integral_histogram_regions_meta_get_quantization:
 * @meta: a #GstIntegralHistogramRegionsMeta
 * @parts: (out caller-allocates) (array fixed-size=3): as
 * [method@IntegralHistogram.get_quantization] gives them
 *
 * Says how the bins of a joint feature are made of its values.
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
void gst_integral_histogram_regions_meta_get_quantization (GstIntegralHistogramRegionsMeta *meta,
                                                           guint parts[3]);

/**
 * gst_integral_histogram_regions_meta_get_weight_unit:
 * @meta: a #GstIntegralHistogramRegionsMeta
 *
 * Says which integer stands for a weight of 1.
 *
 * Returns: what weights are divided by, as [method@IntegralHistogram.get_weight_unit] gives it
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
guint gst_integral_histogram_regions_meta_get_weight_unit (GstIntegralHistogramRegionsMeta *meta);

/**
 * gst_integral_histogram_regions_meta_get_bins:
 * @meta: a #GstIntegralHistogramRegionsMeta
 *
 * Says how many numbers [method@IntegralHistogramRegionsMeta.get_values] gives.
 *
 * Returns: how many numbers each region has: bins, or the planes of a table
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
guint gst_integral_histogram_regions_meta_get_bins (GstIntegralHistogramRegionsMeta *meta);

/**
 * gst_integral_histogram_regions_meta_get_first_bin:
 * @meta: a #GstIntegralHistogramRegionsMeta
 *
 * Says which bin a region's first number belongs to, if only some bins were made; see
 * [method@IntegralHistogram.get_first_bin].
 *
 * Returns: the bin; 0 for tables, and if all bins have numbers
 *
 * Since: 0.3
 */
GST_INTEGRAL_HISTOGRAM_API
guint gst_integral_histogram_regions_meta_get_first_bin (GstIntegralHistogramRegionsMeta *meta);

/**
 * gst_integral_histogram_regions_meta_get_all_bins:
 * @meta: a #GstIntegralHistogramRegionsMeta
 *
 * Says how many bins the whole histogram has, if only some were made; see
 * [method@IntegralHistogram.get_all_bins].
 *
 * Returns: the bins of the whole histogram; as many as
 * [method@IntegralHistogramRegionsMeta.get_bins] for tables, and if no bin is left out
 *
 * Since: 0.3
 */
GST_INTEGRAL_HISTOGRAM_API
guint gst_integral_histogram_regions_meta_get_all_bins (GstIntegralHistogramRegionsMeta *meta);

/**
 * gst_integral_histogram_regions_meta_get_region:
 * @meta: a #GstIntegralHistogramRegionsMeta
 * @index: which region
 * @x: (out) (optional): first column, in pixels of the frame that carries @meta
 * @y: (out) (optional): first row
 * @width: (out) (optional): columns
 * @height: (out) (optional): rows
 *
 * Says where a region is. After a crop it may extend over the border of the frame, or lie outside;
 * the numbers are still those of the whole region.
 *
 * Returns: %TRUE, or %FALSE if @index is too large
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_regions_meta_get_region (GstIntegralHistogramRegionsMeta *meta,
                                                         guint index, gint *x, gint *y, gint *width,
                                                         gint *height);

/**
 * gst_integral_histogram_regions_meta_get_pixels:
 * @meta: a #GstIntegralHistogramRegionsMeta
 * @index: which region
 *
 * Says how large a region was in the computed frame.
 *
 * Returns: the number of pixels of the region in the computed frame; a sum divided by it is the
 * mean. 0 if @index is too large
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
guint64 gst_integral_histogram_regions_meta_get_pixels (GstIntegralHistogramRegionsMeta *meta,
                                                        guint index);

/**
 * gst_integral_histogram_regions_meta_get_values:
 * @meta: a #GstIntegralHistogramRegionsMeta
 * @index: which region
 * @n_values: (out) (optional): number of values, the bins
 * @error: return location for a #GError
 *
 * Returns the counts, sums or weights of a region. The first call waits for the frame's tensor and
 * gets the numbers of all regions.
 *
 * Returns: (transfer full) (array length=n_values): the numbers, or %NULL with @error set, to
 * %GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION if @index is too large; free with [func@GLib.free]
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
guint64 *gst_integral_histogram_regions_meta_get_values (GstIntegralHistogramRegionsMeta *meta,
                                                         guint index, gsize *n_values,
                                                         GError **error);

/**
 * gst_integral_histogram_regions_meta_to_bytes:
 * @meta: a #GstIntegralHistogramRegionsMeta
 * @error: return location for a #GError
 *
 * Writes the meta as bytes that are the same on every machine, for files and networks. Waits for
 * the numbers. docs/pipelines.md has the format.
 *
 * Returns: (transfer full): the bytes, or %NULL with @error set
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
GBytes *gst_integral_histogram_regions_meta_to_bytes (GstIntegralHistogramRegionsMeta *meta,
                                                      GError **error);

/**
 * gst_buffer_add_integral_histogram_regions_meta_from_bytes:
 * @buffer: a writable #GstBuffer
 * @bytes: the bytes that [method@IntegralHistogramRegionsMeta.to_bytes] returned
 * @error: return location for a #GError
 *
 * Attaches the meta that @bytes describe, for example from a file or another process.
 *
 * Returns: (transfer none): the meta, or %NULL with @error set,
 * %GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION if the bytes are no meta of this type, are cut off,
 * or have a later version
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
GstIntegralHistogramRegionsMeta *
gst_buffer_add_integral_histogram_regions_meta_from_bytes (GstBuffer *buffer, GBytes *bytes,
                                                           GError **error);

G_END_DECLS
