/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/integralhist/gstintegralhistogram.h>

G_BEGIN_DECLS

/*
 * Questions about rectangles of a frame: the counts or sums in each plane of the tensor. Each
 * question waits for the tensor, and answers in host memory or on a GPU. The functions that begin
 * with `query_` do the same for language bindings.
 *
 * The answer is [plane] for one rectangle and [rectangle][plane] for many; a histogram's planes are
 * its bins. Counts have 32 bits, and sums 64.
 *
 * All of these functions set an error of [error@IntegralHistogramError] if they fail:
 *
 * - %GST_INTEGRAL_HISTOGRAM_ERROR_OVERFLOW: a count of a summed-area table or of weights is 2^32 or
 *   more. Ask for sums.
 * - %GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION: too many rectangles at once, or a list of numbers
 *   that is not a list of rectangles
 * - %GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY: there is not enough memory for the tensor or the
 *   answers. Ask for fewer rectangles at once.
 * - %GST_INTEGRAL_HISTOGRAM_ERROR_FAILED: the tensor could not be computed or read
 */

/**
 * gst_integral_histogram_region: (skip)
 * @histogram: a #GstIntegralHistogram
 * @x: first column, in pixels
 * @y: first row, in pixels
 * @width: columns
 * @height: rows
 * @counts: (out caller-allocates): room for the counts, [bin]
 * @error: return location for a #GError
 *
 * Computes the histogram of a rectangle: the number of pixels of each bin, exact for every counter
 * type. The rectangle is clipped to the frame, and the counts sum up to the clipped area; if
 * nothing of it lies inside the frame, they are all zero.
 *
 * For tables, computes the sum of each plane, if it fits 32 bits;
 * [method@IntegralHistogram.region_sums] has no such limit.
 *
 * Returns: %TRUE, or %FALSE with @error set, %GST_INTEGRAL_HISTOGRAM_ERROR_OVERFLOW for a sum of
 * 2^32 or more
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_region (GstIntegralHistogram *histogram, gint x, gint y, gint width,
                                        gint height, guint32 *counts, GError **error);

/**
 * gst_integral_histogram_regions: (skip)
 * @histogram: a #GstIntegralHistogram
 * @rectangles: (array length=n): rectangles in pixels
 * @n: number of rectangles
 * @counts: (out caller-allocates): room for the counts, [rectangle][bin]
 * @error: return location for a #GError
 *
 * Computes the histograms of many rectangles at once, each as in [method@IntegralHistogram.region].
 * On a GPU that is one kernel launch and one small copy for all of them.
 *
 * Returns: %TRUE, or %FALSE with @error set, %GST_INTEGRAL_HISTOGRAM_ERROR_OVERFLOW for a sum of
 * 2^32 or more, %GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION for too many rectangles
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_regions (GstIntegralHistogram *histogram,
                                         const GstVideoRectangle *rectangles, guint n,
                                         guint32 *counts, GError **error);

/**
 * gst_integral_histogram_region_sums: (skip)
 * @histogram: a #GstIntegralHistogram
 * @x: first column, in pixels
 * @y: first row, in pixels
 * @width: columns
 * @height: rows
 * @sums: (out caller-allocates): room for the sums, [plane]
 * @error: return location for a #GError
 *
 * Computes the exact sum of a rectangle in each plane. For tables that is the sum of values and, in
 * a second plane, the sum of squares; for a histogram the counts. The rectangle is clipped to the
 * frame; if nothing of it lies inside the frame, the sums are zero.
 *
 * Returns: %TRUE, or %FALSE with @error set
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_region_sums (GstIntegralHistogram *histogram, gint x, gint y,
                                             gint width, gint height, guint64 *sums,
                                             GError **error);

/**
 * gst_integral_histogram_regions_sums: (skip)
 * @histogram: a #GstIntegralHistogram
 * @rectangles: (array length=n): rectangles in pixels
 * @n: number of rectangles
 * @sums: (out caller-allocates): room for the sums, [rectangle][plane]
 * @error: return location for a #GError
 *
 * Computes the sums of many rectangles at once, each as in [method@IntegralHistogram.region_sums].
 * On a GPU that is one kernel launch and one small copy for all of them.
 *
 * Returns: %TRUE, or %FALSE with @error set, %GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION for too
 * many rectangles
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_regions_sums (GstIntegralHistogram *histogram,
                                              const GstVideoRectangle *rectangles, guint n,
                                              guint64 *sums, GError **error);

/**
 * gst_integral_histogram_query_region: (rename-to gst_integral_histogram_region)
 * @histogram: a #GstIntegralHistogram
 * @x: first column, in pixels
 * @y: first row, in pixels
 * @width: columns
 * @height: rows
 * @n_counts: (out) (optional): number of counts, the bins
 * @error: return location for a #GError
 *
 * Does what [method@IntegralHistogram.region] does, for language bindings.
 *
 * Returns: (transfer full) (array length=n_counts): the counts, or %NULL with @error set; free with
 * [func@GLib.free]
 */
GST_INTEGRAL_HISTOGRAM_API
guint32 *gst_integral_histogram_query_region (GstIntegralHistogram *histogram, gint x, gint y,
                                              gint width, gint height, gsize *n_counts,
                                              GError **error);

/**
 * gst_integral_histogram_query_regions: (rename-to gst_integral_histogram_regions)
 * @histogram: a #GstIntegralHistogram
 * @rectangles: (array length=n_values): x, y, width, height of one rectangle after another, in
 * pixels
 * @n_values: four times the number of rectangles
 * @error: return location for a #GError
 *
 * Does what [method@IntegralHistogram.regions] does, for language bindings.
 *
 * Returns: (transfer full): native-endian 32-bit counts, rectangles x bins, or %NULL with @error
 * set
 */
GST_INTEGRAL_HISTOGRAM_API
GBytes *gst_integral_histogram_query_regions (GstIntegralHistogram *histogram,
                                              const gint *rectangles, gsize n_values,
                                              GError **error);

/**
 * gst_integral_histogram_query_region_sums: (rename-to gst_integral_histogram_region_sums)
 * @histogram: a #GstIntegralHistogram
 * @x: first column, in pixels
 * @y: first row, in pixels
 * @width: columns
 * @height: rows
 * @n_sums: (out) (optional): number of sums, the planes
 * @error: return location for a #GError
 *
 * Does what [method@IntegralHistogram.region_sums] does, for language bindings.
 *
 * Returns: (transfer full) (array length=n_sums): the sums, or %NULL with @error set; free with
 * [func@GLib.free]
 */
GST_INTEGRAL_HISTOGRAM_API
guint64 *gst_integral_histogram_query_region_sums (GstIntegralHistogram *histogram, gint x, gint y,
                                                   gint width, gint height, gsize *n_sums,
                                                   GError **error);

/**
 * gst_integral_histogram_query_regions_sums: (rename-to gst_integral_histogram_regions_sums)
 * @histogram: a #GstIntegralHistogram
 * @rectangles: (array length=n_values): x, y, width, height of one rectangle after another, in
 * pixels
 * @n_values: four times the number of rectangles
 * @error: return location for a #GError
 *
 * Does what [method@IntegralHistogram.regions_sums] does, for language bindings.
 *
 * Returns: (transfer full): native-endian 64-bit sums, rectangles x planes, or %NULL with @error
 * set
 */
GST_INTEGRAL_HISTOGRAM_API
GBytes *gst_integral_histogram_query_regions_sums (GstIntegralHistogram *histogram,
                                                   const gint *rectangles, gsize n_values,
                                                   GError **error);

G_END_DECLS
