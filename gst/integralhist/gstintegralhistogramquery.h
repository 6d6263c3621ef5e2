/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/integralhist/gstintegralhistogram.h>

G_BEGIN_DECLS

/*
 * Questions about many windows of an integral histogram at once. Windows may extend over the border
 * of the frame; only the pixels inside count. A window without pixels has a histogram of zeros.
 *
 * If bins have weights (%GST_INTEGRAL_HISTOGRAM_CONTENT_WEIGHTS), the questions count weights
 * instead of pixels: a window's histogram is divided by the sum of its weights, and a window
 * without weights is treated like one without pixels. Sums are exact, in 64 bits. Then each bin,
 * the sum, the sum's reciprocal and the product are rounded to the nearest 32-bit float, so all
 * devices give the same bits. Counts have 32 bits: a question fails if the weights of a window may
 * not fit, that is, if the window has more than 1,048,832 pixels.
 *
 * Each question has two forms. The plain form waits, and answers into host memory. The form with
 * `_on_stream` is for CUDA callers: it makes `stream`, a cudaStream_t of
 * gst_integral_histogram_get_cuda_context(), wait for the tensor, enqueues the work on it and
 * returns. The answers go to memory of that device. The arguments are in host memory in both forms,
 * and have been read on return. The caller may release the histogram at once: its memory is not
 * reused before the stream has finished the work. For a histogram in host memory the call fails.
 *
 * The shapes of the answers, in the order of the windows, with the last index the fastest:
 *
 * - grids: 32-bit counts, [grid][row][column][bin]
 * - likelihoods: 32-bit floats, [window]
 * - likelihood_maps, quantile_maps: 32-bit floats or signed bins, [grid][row][column]
 * - vote_maps: 32-bit floats, [search][row][column]
 * - regions_on_stream: 32-bit counts, [rectangle][bin]
 *
 * All of these functions set an error of [error@IntegralHistogramError] if they fail:
 *
 * - %GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION: an argument is invalid, such as an empty model, or
 *   the tensor cannot answer: summed-area tables have no grids, and a range of the bins has no
 *   likelihoods, quantiles or votes. The message names the argument and its limit.
 * - %GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY: there is not enough memory for the tensor or the
 *   answers. Ask for fewer windows at once.
 * - %GST_INTEGRAL_HISTOGRAM_ERROR_FAILED: the tensor could not be computed or read; and, with a
 *   stream, the tensor is in host memory.
 */

/**
 * GstIntegralHistogramMeasure:
 * @GST_INTEGRAL_HISTOGRAM_MEASURE_INTERSECTION: sum min(p, q), 0 to 1; more is more alike (Swain
 * and Ballard 1991)
 * @GST_INTEGRAL_HISTOGRAM_MEASURE_BHATTACHARYYA: sqrt(1 - sum sqrt(p q)), 0 to 1, the Hellinger
 * distance
 * @GST_INTEGRAL_HISTOGRAM_MEASURE_CHI_SQUARE: sum (q - p)^2 / q, of bins with q > 0
 * @GST_INTEGRAL_HISTOGRAM_MEASURE_CHI_SQUARE_ALT: 2 sum (p - q)^2 / (p + q), of bins with p + q >
 * 0; 0 to 4
 * @GST_INTEGRAL_HISTOGRAM_MEASURE_L1: sum |p - q|, 0 to 2
 * @GST_INTEGRAL_HISTOGRAM_MEASURE_L2: sqrt(sum (p - q)^2)
 * @GST_INTEGRAL_HISTOGRAM_MEASURE_CORRELATION: correlation of the bins, -1 to 1; more is more
 * alike; 1 if p or q is constant
 * @GST_INTEGRAL_HISTOGRAM_MEASURE_KULLBACK_LEIBLER: sum q log(q / p), p at least 1e-10, of bins
 * with q > 0
 * @GST_INTEGRAL_HISTOGRAM_MEASURE_EMD: sum |P - Q|, P and Q being cumulative: the earth mover's
 * distance in one dimension, in bins (Rubner et al. 2000)
 * @GST_INTEGRAL_HISTOGRAM_MEASURE_KOLMOGOROV_SMIRNOV: max |P - Q|, 0 to 1
 * @GST_INTEGRAL_HISTOGRAM_MEASURE_LINEAR: sum p q, the score of a linear classifier; more is
 * better. q may have any numbers, also below 0, and is not divided by its sum
 *
 * How alike a window's histogram p and a model q are. p is divided by the number of the window's
 * pixels, so pixels that are in no bin count against the likeness; q is divided by its sum. If
 * OpenCV's compareHist has the measure, the value is that of compareHist (q, p). For bhattacharyya
 * both histograms have one more bin in that comparison: in p it has the pixels in no bin, in q it
 * is empty. If all pixels are in no bin, or the window has none, p is 0: bhattacharyya and
 * correlation are then 1.
 */
typedef enum {
  GST_INTEGRAL_HISTOGRAM_MEASURE_INTERSECTION,
  GST_INTEGRAL_HISTOGRAM_MEASURE_BHATTACHARYYA,
  GST_INTEGRAL_HISTOGRAM_MEASURE_CHI_SQUARE,
  GST_INTEGRAL_HISTOGRAM_MEASURE_CHI_SQUARE_ALT,
  GST_INTEGRAL_HISTOGRAM_MEASURE_L1,
  GST_INTEGRAL_HISTOGRAM_MEASURE_L2,
  GST_INTEGRAL_HISTOGRAM_MEASURE_CORRELATION,
  GST_INTEGRAL_HISTOGRAM_MEASURE_KULLBACK_LEIBLER,
  GST_INTEGRAL_HISTOGRAM_MEASURE_EMD,
  GST_INTEGRAL_HISTOGRAM_MEASURE_KOLMOGOROV_SMIRNOV,
  GST_INTEGRAL_HISTOGRAM_MEASURE_LINEAR,
} GstIntegralHistogramMeasure;

#define GST_TYPE_INTEGRAL_HISTOGRAM_MEASURE (gst_integral_histogram_measure_get_type ())
GST_INTEGRAL_HISTOGRAM_API GType gst_integral_histogram_measure_get_type (void);

/**
 * GstIntegralHistogramGrid:
 * @window_width: columns of each window, in pixels, at least 1
 * @window_height: rows of each window, at least 1
 * @x: first column of the first window, in pixels; may be outside of the frame
 * @y: first row of the first window
 * @step_x: columns from one window to the next, at least 1
 * @step_y: rows from one window to the next, at least 1
 * @columns: windows side by side, at least 1
 * @rows: rows of windows, at least 1
 *
 * Windows of one size. The window in column i and row j of the grid has its first pixel at (@x + i
 * @step_x, @y + j @step_y); answers go row by row.
 */
typedef struct {
  gint window_width, window_height;
  gint x, y;
  gint step_x, step_y;
  gint columns, rows;
} GstIntegralHistogramGrid;

/**
 * GstIntegralHistogramBest:
 * @value: the answer for the window
 * @index: which window it is: row x columns + column of a grid
 *
 * The window that is most alike. Among equals, the one nearest to the middle of the grid wins;
 * among those, and in a list, the first.
 */
typedef struct {
  gfloat value;
  gint index;
} GstIntegralHistogramBest;

/**
 * GstIntegralHistogramSearch:
 * @grid: where to look; only the first pixel of each window counts
 * @patches: (array length=n_patches): patches in pixels, relative to a window's first pixel
 * @n_patches: number of patches, 1 to 4096
 * @models: for each patch as many numbers as there are bins, none negative and not all zero, or any
 * with %GST_INTEGRAL_HISTOGRAM_MEASURE_LINEAR
 * @rank: the answer is the value of the patch with this rank, 0 being the best
 *
 * A search for a target by the votes of its patches. In each window, each patch is compared with
 * the model of that patch. The answer is the value of the @rank-th best patch, so patches that are
 * hidden or have changed do not count (Adam, Rivlin and Shimshoni, CVPR 2006, who take a quarter of
 * the patches).
 */
typedef struct {
  GstIntegralHistogramGrid grid;
  const GstVideoRectangle *patches;
  guint n_patches;
  const gfloat *models;
  guint rank;
} GstIntegralHistogramSearch;

/**
 * gst_integral_histogram_grids: (skip)
 * @histogram: a #GstIntegralHistogram
 * @grids: (array length=n_grids): windows; several grids for several sizes
 * @n_grids: number of grids
 * @counts: (out caller-allocates): room for the counts, [grid][row][column][bin]
 * @error: return location for a #GError
 *
 * Computes the histograms of windows on grids, each as in [method@IntegralHistogram.region].
 *
 * Returns: %TRUE, or %FALSE with @error set: %GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION for an
 * invalid grid, and for windows whose weights may not fit 32 bits
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_grids (GstIntegralHistogram *histogram,
                                       const GstIntegralHistogramGrid *grids, guint n_grids,
                                       guint32 *counts, GError **error);

/**
 * gst_integral_histogram_likelihoods: (skip)
 * @histogram: a #GstIntegralHistogram
 * @rectangles: (array length=n): windows, in pixels
 * @n: number of windows, at least 1
 * @model: as many numbers as there are bins, none negative and not all zero; what they sum up to
 * does not matter. With %GST_INTEGRAL_HISTOGRAM_MEASURE_LINEAR any numbers
 * @measure: how to compare
 * @values: (out caller-allocates): room for @n values, [window]
 * @best: (out caller-allocates) (optional): the window that is most alike
 * @error: return location for a #GError
 *
 * Computes how alike the histograms of rectangles and a model are, for example for a particle
 * filter. No histogram is written to memory.
 *
 * Returns: %TRUE, or %FALSE with @error set: %GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION for
 * too many windows, or an invalid @model or @measure
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_likelihoods (GstIntegralHistogram *histogram,
                                             const GstVideoRectangle *rectangles, guint n,
                                             const gfloat *model,
                                             GstIntegralHistogramMeasure measure, gfloat *values,
                                             GstIntegralHistogramBest *best, GError **error);

/**
 * gst_integral_histogram_likelihood_maps: (skip)
 * @histogram: a #GstIntegralHistogram
 * @grids: (array length=n_grids): windows; several grids for several sizes
 * @n_grids: number of grids
 * @model: as many numbers as there are bins, none negative and not all zero; what they sum up to
 * does not matter. With %GST_INTEGRAL_HISTOGRAM_MEASURE_LINEAR any numbers
 * @measure: how to compare
 * @maps: (out caller-allocates) (optional): room for the values, [grid][row][column]
 * @bests: (out caller-allocates) (optional): room for the best window of each grid
 * @error: return location for a #GError
 *
 * Computes likelihood maps: how alike the histograms of windows on grids and a model are. No
 * histogram is written to memory. If @maps is %NULL, only the best windows are returned.
 *
 * Returns: %TRUE, or %FALSE with @error set: %GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION for an
 * invalid grid, @model or @measure
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_likelihood_maps (GstIntegralHistogram *histogram,
                                                 const GstIntegralHistogramGrid *grids,
                                                 guint n_grids, const gfloat *model,
                                                 GstIntegralHistogramMeasure measure, gfloat *maps,
                                                 GstIntegralHistogramBest *bests, GError **error);

/**
 * gst_integral_histogram_quantile_maps: (skip)
 * @histogram: a #GstIntegralHistogram
 * @grids: (array length=n_grids): windows; several grids for several sizes
 * @n_grids: number of grids
 * @quantile: 0 to 1; 0.5 is the lower median
 * @maps: (out caller-allocates): room for the bins, [grid][row][column]
 * @error: return location for a #GError
 *
 * Finds a quantile for each window: the first bin b for which bins 0 to b have at least @quantile
 * of the window's pixels, and at least one pixel. The value is -1 if there is no such bin, because
 * pixels that are in no bin come after all others, and -1 for a window without pixels. A histogram
 * of weights counts the window's weights instead of its pixels.
 *
 * Returns: %TRUE, or %FALSE with @error set: %GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION for an
 * invalid grid or @quantile
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_quantile_maps (GstIntegralHistogram *histogram,
                                               const GstIntegralHistogramGrid *grids, guint n_grids,
                                               gdouble quantile, gint32 *maps, GError **error);

/**
 * gst_integral_histogram_vote_maps: (skip)
 * @histogram: a #GstIntegralHistogram
 * @searches: (array length=n_searches): where to look for what
 * @n_searches: number of searches
 * @measure: how to compare
 * @maps: (out caller-allocates) (optional): room for the values, [search][row][column]
 * @bests: (out caller-allocates) (optional): room for the best window of each search
 * @error: return location for a #GError
 *
 * Computes the votes of patches, for each window of each search. If @maps is %NULL, only the best
 * windows are returned.
 *
 * Returns: %TRUE, or %FALSE with @error set: %GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION for an
 * invalid grid, number of patches, model, @measure or rank
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_vote_maps (GstIntegralHistogram *histogram,
                                           const GstIntegralHistogramSearch *searches,
                                           guint n_searches, GstIntegralHistogramMeasure measure,
                                           gfloat *maps, GstIntegralHistogramBest *bests,
                                           GError **error);

/**
 * gst_integral_histogram_regions_on_stream: (skip)
 * @histogram: a #GstIntegralHistogram on a GPU
 * @rectangles: (array length=n): rectangles in pixels
 * @n: number of rectangles
 * @counts: memory of the device, for @n x bins counts
 * @stream: a cudaStream_t
 * @error: return location for a #GError
 *
 * Does what [method@IntegralHistogram.regions] does, for CUDA callers and integral histograms only.
 *
 * Returns: %TRUE when it is enqueued, or %FALSE with @error set:
 * %GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION for a summed-area table, too many rectangles, or
 * rectangles whose weights may not fit 32 bits; and %GST_INTEGRAL_HISTOGRAM_ERROR_FAILED for a
 * tensor in host memory
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_regions_on_stream (GstIntegralHistogram *histogram,
                                                   const GstVideoRectangle *rectangles, guint n,
                                                   guint32 *counts, gpointer stream,
                                                   GError **error);

/**
 * gst_integral_histogram_grids_on_stream: (skip)
 * @histogram: a #GstIntegralHistogram on a GPU
 * @grids: (array length=n_grids): windows
 * @n_grids: number of grids
 * @counts: memory of the device, as much as [method@IntegralHistogram.grids] writes
 * @stream: a cudaStream_t
 * @error: return location for a #GError
 *
 * Does what [method@IntegralHistogram.grids] does, for CUDA callers: enqueues the work on @stream
 * after the tensor, and returns. The caller may release @histogram at once.
 *
 * Returns: %TRUE when it is enqueued, or %FALSE with @error set: as the function without a stream,
 * and %GST_INTEGRAL_HISTOGRAM_ERROR_FAILED for a tensor in host memory
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_grids_on_stream (GstIntegralHistogram *histogram,
                                                 const GstIntegralHistogramGrid *grids,
                                                 guint n_grids, guint32 *counts, gpointer stream,
                                                 GError **error);

/**
 * gst_integral_histogram_likelihoods_on_stream: (skip)
 * @histogram: a #GstIntegralHistogram on a GPU
 * @rectangles: (array length=n): windows, in pixels
 * @n: number of windows, at least 1
 * @model: as many numbers as there are bins, in host memory
 * @measure: how to compare
 * @values: memory of the device, for @n values
 * @best: (nullable): memory of the device, for one
 * @stream: a cudaStream_t
 * @error: return location for a #GError
 *
 * Does what [method@IntegralHistogram.likelihoods] does, for CUDA callers: enqueues the work on
 * @stream after the tensor, and returns. The caller may release @histogram at once.
 *
 * Returns: %TRUE when it is enqueued, or %FALSE with @error set: as the function without a stream,
 * and %GST_INTEGRAL_HISTOGRAM_ERROR_FAILED for a tensor in host memory
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_likelihoods_on_stream (
    GstIntegralHistogram *histogram, const GstVideoRectangle *rectangles, guint n,
    const gfloat *model, GstIntegralHistogramMeasure measure, gfloat *values,
    GstIntegralHistogramBest *best, gpointer stream, GError **error);

/**
 * gst_integral_histogram_likelihood_maps_on_stream: (skip)
 * @histogram: a #GstIntegralHistogram on a GPU
 * @grids: (array length=n_grids): windows
 * @n_grids: number of grids
 * @model: as many numbers as there are bins, in host memory
 * @measure: how to compare
 * @maps: memory of the device, not %NULL, for what [method@IntegralHistogram.likelihood_maps]
 * writes
 * @bests: (nullable): memory of the device, one for each map
 * @stream: a cudaStream_t
 * @error: return location for a #GError
 *
 * Does what [method@IntegralHistogram.likelihood_maps] does, for CUDA callers: enqueues the work on
 * @stream after the tensor, and returns. The caller may release @histogram at once.
 *
 * Returns: %TRUE when it is enqueued, or %FALSE with @error set: as the function without a stream,
 * and %GST_INTEGRAL_HISTOGRAM_ERROR_FAILED for a tensor in host memory
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_likelihood_maps_on_stream (
    GstIntegralHistogram *histogram, const GstIntegralHistogramGrid *grids, guint n_grids,
    const gfloat *model, GstIntegralHistogramMeasure measure, gfloat *maps,
    GstIntegralHistogramBest *bests, gpointer stream, GError **error);

/**
 * gst_integral_histogram_quantile_maps_on_stream: (skip)
 * @histogram: a #GstIntegralHistogram on a GPU
 * @grids: (array length=n_grids): windows
 * @n_grids: number of grids
 * @quantile: 0 to 1
 * @maps: memory of the device, not %NULL, for what [method@IntegralHistogram.quantile_maps] writes
 * @stream: a cudaStream_t
 * @error: return location for a #GError
 *
 * Does what [method@IntegralHistogram.quantile_maps] does, for CUDA callers: enqueues the work on
 * @stream after the tensor, and returns. The caller may release @histogram at once.
 *
 * Returns: %TRUE when it is enqueued, or %FALSE with @error set: as the function without a stream,
 * and %GST_INTEGRAL_HISTOGRAM_ERROR_FAILED for a tensor in host memory
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_quantile_maps_on_stream (GstIntegralHistogram *histogram,
                                                         const GstIntegralHistogramGrid *grids,
                                                         guint n_grids, gdouble quantile,
                                                         gint32 *maps, gpointer stream,
                                                         GError **error);

/**
 * gst_integral_histogram_vote_maps_on_stream: (skip)
 * @histogram: a #GstIntegralHistogram on a GPU
 * @searches: (array length=n_searches): where to look for what, in host memory
 * @n_searches: number of searches
 * @measure: how to compare
 * @maps: memory of the device, not %NULL, as much as [method@IntegralHistogram.vote_maps] writes
 * @bests: (nullable): memory of the device, one for each map
 * @stream: a cudaStream_t
 * @error: return location for a #GError
 *
 * Does what [method@IntegralHistogram.vote_maps] does, for CUDA callers: enqueues the work on
 * @stream after the tensor, and returns. The caller may release @histogram at once.
 *
 * Returns: %TRUE when it is enqueued, or %FALSE with @error set: as the function without a stream,
 * and %GST_INTEGRAL_HISTOGRAM_ERROR_FAILED for a tensor in host memory
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_vote_maps_on_stream (GstIntegralHistogram *histogram,
                                                     const GstIntegralHistogramSearch *searches,
                                                     guint n_searches,
                                                     GstIntegralHistogramMeasure measure,
                                                     gfloat *maps, GstIntegralHistogramBest *bests,
                                                     gpointer stream, GError **error);

/**
 * gst_integral_histogram_query_grid: (rename-to gst_integral_histogram_grids)
 * @histogram: a #GstIntegralHistogram
 * @grid: windows
 * @error: return location for a #GError
 *
 * Does what [method@IntegralHistogram.grids] does, for language bindings and one grid.
 *
 * Returns: (transfer full): native-endian 32-bit counts, rows x columns x bins, or %NULL with
 * @error set
 */
GST_INTEGRAL_HISTOGRAM_API
GBytes *gst_integral_histogram_query_grid (GstIntegralHistogram *histogram,
                                           const GstIntegralHistogramGrid *grid, GError **error);

/**
 * gst_integral_histogram_query_likelihood_map: (rename-to gst_integral_histogram_likelihood_maps)
 * @histogram: a #GstIntegralHistogram
 * @grid: windows
 * @model: (array length=n_model): as many numbers as there are bins
 * @n_model: the bins
 * @measure: how to compare
 * @best: (out caller-allocates) (optional): the best window
 * @error: return location for a #GError
 *
 * Does what [method@IntegralHistogram.likelihood_maps] does, for language bindings and one grid.
 *
 * Returns: (transfer full): native-endian 32-bit floats, rows x columns, or %NULL with @error set
 */
GST_INTEGRAL_HISTOGRAM_API
GBytes *gst_integral_histogram_query_likelihood_map (GstIntegralHistogram *histogram,
                                                     const GstIntegralHistogramGrid *grid,
                                                     const gfloat *model, gsize n_model,
                                                     GstIntegralHistogramMeasure measure,
                                                     GstIntegralHistogramBest *best,
                                                     GError **error);

/**
 * gst_integral_histogram_query_quantile_map: (rename-to gst_integral_histogram_quantile_maps)
 * @histogram: a #GstIntegralHistogram
 * @grid: windows
 * @quantile: 0 to 1
 * @error: return location for a #GError
 *
 * Does what [method@IntegralHistogram.quantile_maps] does, for language bindings and one grid.
 *
 * Returns: (transfer full): native-endian 32-bit signed bins, rows x columns, or %NULL with @error
 * set
 */
GST_INTEGRAL_HISTOGRAM_API
GBytes *gst_integral_histogram_query_quantile_map (GstIntegralHistogram *histogram,
                                                   const GstIntegralHistogramGrid *grid,
                                                   gdouble quantile, GError **error);

/**
 * gst_integral_histogram_query_vote_map: (rename-to gst_integral_histogram_vote_maps)
 * @histogram: a #GstIntegralHistogram
 * @grid: where to look
 * @patches: (array length=n_values): x, y, width, height of one patch after another, relative to a
 * window's first pixel
 * @n_values: four times the number of patches
 * @models: (array length=n_models): patches x bins numbers
 * @n_models: patches x bins
 * @rank: the answer is the value of the patch with this rank, 0 being the best
 * @measure: how to compare
 * @best: (out caller-allocates) (optional): the best window
 * @error: return location for a #GError
 *
 * Does what [method@IntegralHistogram.vote_maps] does, for language bindings and one search.
 *
 * Returns: (transfer full): native-endian 32-bit floats, rows x columns, or %NULL with @error set
 */
GST_INTEGRAL_HISTOGRAM_API
GBytes *gst_integral_histogram_query_vote_map (GstIntegralHistogram *histogram,
                                               const GstIntegralHistogramGrid *grid,
                                               const gint *patches, gsize n_values,
                                               const gfloat *models, gsize n_models, guint rank,
                                               GstIntegralHistogramMeasure measure,
                                               GstIntegralHistogramBest *best, GError **error);

G_END_DECLS
