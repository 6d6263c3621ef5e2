/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

G_BEGIN_DECLS

#ifndef GST_INTEGRAL_HISTOGRAM_API
#define GST_INTEGRAL_HISTOGRAM_API extern
#endif

/**
 * GstIntegralHistogram:
 *
 * The integral histogram of one video frame, or the promise of it: the tensor H[b][y][x] with the
 * number of pixels of bin b in rows 0..y and columns 0..x (Porikli, CVPR 2005). Queries wait until
 * the tensor, in host memory or on a GPU, is computed, and return the histogram of any rectangle.
 *
 * The tensor may also hold summed-area tables (integral images; Crow 1984). Plane 0 then adds up
 * the values of the pixels, or the scores that a LUT gives them. Plane 1, if the tensor has one,
 * adds up their squares (Viola and Jones 2001). [method@IntegralHistogram.get_content] says what
 * the tensor holds; the queries are the same.
 *
 * A histogram is immutable and may be used from any thread. It outlives the element and the
 * pipeline that made it. The last reference returns its memory for reuse, so a consumer that keeps
 * the histogram for long keeps that memory.
 */
typedef struct _GstIntegralHistogram GstIntegralHistogram;

#define GST_TYPE_INTEGRAL_HISTOGRAM (gst_integral_histogram_get_type ())

/**
 * GstIntegralHistogramCounter:
 * @GST_INTEGRAL_HISTOGRAM_COUNTER_U32: 32 bits, exact below 2^32 pixels
 * @GST_INTEGRAL_HISTOGRAM_COUNTER_U16: 16 bits, the counts modulo 65536; region queries are still
 * exact, because regions of more than 65535 pixels are cut into parts
 * @GST_INTEGRAL_HISTOGRAM_COUNTER_U16_ANCHORED: an alias of U16 since 0.3; no tensor reports it
 * @GST_INTEGRAL_HISTOGRAM_COUNTER_U8_TILED: tiles of 16x16 counts, in which most counts take a
 * byte: 1.125 bytes a count. Any region is exact in one step; see
 * [method@IntegralHistogram.get_tiles]. At most 2^20 columns and rows. Since: 0.2
 *
 * The type of the tensor's elements.
 */
typedef enum {
  GST_INTEGRAL_HISTOGRAM_COUNTER_U32,
  GST_INTEGRAL_HISTOGRAM_COUNTER_U16,
  GST_INTEGRAL_HISTOGRAM_COUNTER_U16_ANCHORED,
  GST_INTEGRAL_HISTOGRAM_COUNTER_U8_TILED,
} GstIntegralHistogramCounter;

#define GST_TYPE_INTEGRAL_HISTOGRAM_COUNTER (gst_integral_histogram_counter_get_type ())

/**
 * GstIntegralHistogramContent:
 * @GST_INTEGRAL_HISTOGRAM_CONTENT_BINS: plane b counts the pixels of bin b: an integral histogram
 * @GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS: plane 0 adds up the pixels' values or scores, 0 to 255, and
 * plane 1, if the tensor has one, their squares: summed-area tables
 * @GST_INTEGRAL_HISTOGRAM_CONTENT_WEIGHTS: plane b adds up the weights of bin b's pixels; see
 * [method@IntegralHistogram.get_weight_unit]. Since: 0.2
 *
 * Says what the planes of the tensor add up.
 */
typedef enum {
  GST_INTEGRAL_HISTOGRAM_CONTENT_BINS,
  GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS,
  GST_INTEGRAL_HISTOGRAM_CONTENT_WEIGHTS,
} GstIntegralHistogramContent;

#define GST_TYPE_INTEGRAL_HISTOGRAM_CONTENT (gst_integral_histogram_content_get_type ())

/**
 * GstIntegralHistogramFeature:
 * @GST_INTEGRAL_HISTOGRAM_FEATURE_LUMA: brightness
 * @GST_INTEGRAL_HISTOGRAM_FEATURE_LABELS: the value of the pixel is the number of its bin
 * @GST_INTEGRAL_HISTOGRAM_FEATURE_RED: red
 * @GST_INTEGRAL_HISTOGRAM_FEATURE_GREEN: green
 * @GST_INTEGRAL_HISTOGRAM_FEATURE_BLUE: blue
 * @GST_INTEGRAL_HISTOGRAM_FEATURE_CB: the difference of blue and luma
 * @GST_INTEGRAL_HISTOGRAM_FEATURE_CR: the difference of red and luma
 * @GST_INTEGRAL_HISTOGRAM_FEATURE_HUE: hue of pixels that have one
 * @GST_INTEGRAL_HISTOGRAM_FEATURE_SATURATION: saturation of HSV
 * @GST_INTEGRAL_HISTOGRAM_FEATURE_VALUE: value of HSV
 * @GST_INTEGRAL_HISTOGRAM_FEATURE_RGB: red, green and blue together
 * @GST_INTEGRAL_HISTOGRAM_FEATURE_YCBCR: luma and both differences together
 * @GST_INTEGRAL_HISTOGRAM_FEATURE_HUE_SATURATION: hue and saturation together
 * @GST_INTEGRAL_HISTOGRAM_FEATURE_HSV: hue, saturation and value together
 * @GST_INTEGRAL_HISTOGRAM_FEATURE_GRADIENT: orientation of luma's gradient
 * @GST_INTEGRAL_HISTOGRAM_FEATURE_SIGNED_GRADIENT: direction of luma's gradient
 * @GST_INTEGRAL_HISTOGRAM_FEATURE_LBP: local binary pattern
 * @GST_INTEGRAL_HISTOGRAM_FEATURE_UNIFORM_LBP: local binary pattern, with all that are not uniform
 * in one bin
 *
 * The feature of a pixel that is counted.
 *
 * Since: 0.2
 */
typedef enum {
  GST_INTEGRAL_HISTOGRAM_FEATURE_LUMA,
  GST_INTEGRAL_HISTOGRAM_FEATURE_LABELS,
  GST_INTEGRAL_HISTOGRAM_FEATURE_RED,
  GST_INTEGRAL_HISTOGRAM_FEATURE_GREEN,
  GST_INTEGRAL_HISTOGRAM_FEATURE_BLUE,
  GST_INTEGRAL_HISTOGRAM_FEATURE_CB,
  GST_INTEGRAL_HISTOGRAM_FEATURE_CR,
  GST_INTEGRAL_HISTOGRAM_FEATURE_HUE,
  GST_INTEGRAL_HISTOGRAM_FEATURE_SATURATION,
  GST_INTEGRAL_HISTOGRAM_FEATURE_VALUE,
  GST_INTEGRAL_HISTOGRAM_FEATURE_RGB,
  GST_INTEGRAL_HISTOGRAM_FEATURE_YCBCR,
  GST_INTEGRAL_HISTOGRAM_FEATURE_HUE_SATURATION,
  GST_INTEGRAL_HISTOGRAM_FEATURE_HSV,
  GST_INTEGRAL_HISTOGRAM_FEATURE_GRADIENT,
  GST_INTEGRAL_HISTOGRAM_FEATURE_SIGNED_GRADIENT,
  GST_INTEGRAL_HISTOGRAM_FEATURE_LBP,
  GST_INTEGRAL_HISTOGRAM_FEATURE_UNIFORM_LBP,
} GstIntegralHistogramFeature;

#define GST_TYPE_INTEGRAL_HISTOGRAM_FEATURE (gst_integral_histogram_feature_get_type ())

/**
 * GstIntegralHistogramWeight:
 * @GST_INTEGRAL_HISTOGRAM_WEIGHT_ONE: 1, so the pixels of each bin are counted
 * @GST_INTEGRAL_HISTOGRAM_WEIGHT_GRADIENT: the length of luma's gradient by [-1 0 1], so 0 to 361
 * gray levels
 *
 * The weight that a pixel adds to its bin.
 *
 * Since: 0.2
 */
typedef enum {
  GST_INTEGRAL_HISTOGRAM_WEIGHT_ONE,
  GST_INTEGRAL_HISTOGRAM_WEIGHT_GRADIENT,
} GstIntegralHistogramWeight;

#define GST_TYPE_INTEGRAL_HISTOGRAM_WEIGHT (gst_integral_histogram_weight_get_type ())

/**
 * GstIntegralHistogramError:
 * @GST_INTEGRAL_HISTOGRAM_ERROR_FAILED: the tensor could not be computed or read
 * @GST_INTEGRAL_HISTOGRAM_ERROR_TIMEOUT: the tensor was not ready in time
 * @GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY: not enough memory for the tensor, a copy, or an answer
 * @GST_INTEGRAL_HISTOGRAM_ERROR_NOT_DOWNLOADED: the caller asked for a host copy, but the producer
 * was told never to download the tensor
 * @GST_INTEGRAL_HISTOGRAM_ERROR_OVERFLOW: an answer needs more than 32 bits; use
 * [method@IntegralHistogram.regions_sums]
 * @GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION: an argument is invalid, such as an empty model
 *
 * Why a question has no answer. The error message tells users the cause, the limit and the remedy.
 */
typedef enum {
  GST_INTEGRAL_HISTOGRAM_ERROR_FAILED,
  GST_INTEGRAL_HISTOGRAM_ERROR_TIMEOUT,
  GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY,
  GST_INTEGRAL_HISTOGRAM_ERROR_NOT_DOWNLOADED,
  GST_INTEGRAL_HISTOGRAM_ERROR_OVERFLOW,
  GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION,
} GstIntegralHistogramError;

#define GST_INTEGRAL_HISTOGRAM_ERROR (gst_integral_histogram_error_quark ())

GST_INTEGRAL_HISTOGRAM_API GType gst_integral_histogram_get_type (void);
GST_INTEGRAL_HISTOGRAM_API GType gst_integral_histogram_counter_get_type (void);
GST_INTEGRAL_HISTOGRAM_API GType gst_integral_histogram_feature_get_type (void);
GST_INTEGRAL_HISTOGRAM_API GType gst_integral_histogram_weight_get_type (void);
GST_INTEGRAL_HISTOGRAM_API GType gst_integral_histogram_content_get_type (void);

/**
 * gst_integral_histogram_error_quark:
 *
 * The domain of [error@IntegralHistogramError], `GST_INTEGRAL_HISTOGRAM_ERROR` in C.
 *
 * Returns: the domain
 */
GST_INTEGRAL_HISTOGRAM_API GQuark gst_integral_histogram_error_quark (void);

/**
 * gst_integral_histogram_ref:
 * @histogram: a #GstIntegralHistogram
 *
 * Adds a reference; [method@IntegralHistogram.unref] drops it.
 *
 * Returns: (transfer full): @histogram
 */
GST_INTEGRAL_HISTOGRAM_API
GstIntegralHistogram *gst_integral_histogram_ref (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_unref:
 * @histogram: (transfer full): a #GstIntegralHistogram
 *
 * Drops a reference. The last one returns the memory of the tensor for reuse.
 */
GST_INTEGRAL_HISTOGRAM_API
void gst_integral_histogram_unref (GstIntegralHistogram *histogram);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstIntegralHistogram, gst_integral_histogram_unref)

/**
 * gst_integral_histogram_get_width:
 * @histogram: a #GstIntegralHistogram
 *
 * Says how wide the computed frame is.
 *
 * Returns: columns of the tensor, the frame's width in pixels
 */
GST_INTEGRAL_HISTOGRAM_API
guint gst_integral_histogram_get_width (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_height:
 * @histogram: a #GstIntegralHistogram
 *
 * Says how high the computed frame is.
 *
 * Returns: rows of the tensor, the frame's height in pixels
 */
GST_INTEGRAL_HISTOGRAM_API
guint gst_integral_histogram_get_height (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_bins:
 * @histogram: a #GstIntegralHistogram
 *
 * Says how many planes the tensor has: one for each bin that the producer made, or one for each
 * table. [method@IntegralHistogram.get_all_bins] also counts the bins that were left out.
 *
 * Returns: planes of the tensor: 1 to 256 bins, or 1 or 2 tables
 */
GST_INTEGRAL_HISTOGRAM_API
guint gst_integral_histogram_get_bins (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_first_bin:
 * @histogram: a #GstIntegralHistogram
 *
 * Says which bin plane 0 holds, if the tensor has planes for only some of the bins: for the range
 * that cudaintegralhist's properties `first-bin` and `n-bins` select, or for a shard
 * ([method@IntegralHistogram.get_shard]). Plane b holds bin first_bin + b of the whole histogram.
 * The counts of several consecutive ranges, one after another, are those of the whole histogram.
 *
 * If `first-bin` and `n-bins` leave bins out, questions that compare histograms or take a quantile
 * fail: [method@IntegralHistogram.likelihoods], [method@IntegralHistogram.likelihood_maps],
 * [method@IntegralHistogram.quantile_maps] and [method@IntegralHistogram.vote_maps] need all bins.
 *
 * Returns: the bin of plane 0; 0 for tables, and if the tensor has planes for all bins
 *
 * Since: 0.3
 */
GST_INTEGRAL_HISTOGRAM_API
guint gst_integral_histogram_get_first_bin (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_all_bins:
 * @histogram: a #GstIntegralHistogram
 *
 * Says how many bins the whole histogram has, if the tensor has planes for only some of them; see
 * [method@IntegralHistogram.get_first_bin].
 *
 * Returns: the bins of the whole histogram; as many as [method@IntegralHistogram.get_bins] for
 * tables, and if no bin is left out
 *
 * Since: 0.3
 */
GST_INTEGRAL_HISTOGRAM_API
guint gst_integral_histogram_get_all_bins (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_content:
 * @histogram: a #GstIntegralHistogram
 *
 * Tells integral histograms, weights and summed-area tables from each other.
 *
 * Returns: what the planes add up
 */
GST_INTEGRAL_HISTOGRAM_API
GstIntegralHistogramContent gst_integral_histogram_get_content (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_counter:
 * @histogram: a #GstIntegralHistogram
 *
 * Says which type the elements have, for programs that read the tensor directly.
 *
 * Returns: the type of the tensor's elements
 */
GST_INTEGRAL_HISTOGRAM_API
GstIntegralHistogramCounter gst_integral_histogram_get_counter (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_feature:
 * @histogram: a #GstIntegralHistogram
 *
 * Says which feature's values make the bins; it is the element's property `feature`.
 *
 * Returns: the feature of a pixel that is counted
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
GstIntegralHistogramFeature gst_integral_histogram_get_feature (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_quantization:
 * @histogram: a #GstIntegralHistogram
 * @parts: (out caller-allocates) (array fixed-size=3): into how many parts each value of a joint
 * feature is divided; 0 for a value that the feature does not have, and three zeros if the feature
 * is not joint. Bin (i * parts[1] + j) * parts[2] + k holds parts i, j and k; if parts[2] is 0, bin
 * i * parts[1] + j holds parts i and j. If the producer has a lut, this number is the value that
 * the lut maps to a bin or a score
 *
 * Says how the bins of a joint feature are made of its values.
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
void gst_integral_histogram_get_quantization (GstIntegralHistogram *histogram, guint parts[3]);

/**
 * gst_integral_histogram_get_lut_seqnum:
 * @histogram: a #GstIntegralHistogram
 *
 * Says which event set the scores of a table. An element that changes the scores with
 * [func@integral_image_lut_event_new] sees here from which frame on they apply.
 *
 * Returns: [method@Gst.Event.get_seqnum] of the event that brought the scores; %GST_SEQNUM_INVALID
 * (0) for histograms, and if the scores come from the element's properties
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
guint32 gst_integral_histogram_get_lut_seqnum (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_weight:
 * @histogram: a #GstIntegralHistogram
 *
 * Says which weight each pixel has; it is the element's property `weight`.
 *
 * Returns: what a pixel adds to its bin
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
GstIntegralHistogramWeight gst_integral_histogram_get_weight (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_soft:
 * @histogram: a #GstIntegralHistogram
 *
 * Says whether a pixel may count in two neighbouring bins; it is the element's property `soft`.
 *
 * Returns: whether a pixel's weight is shared by the two bins whose middles enclose its value
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_get_soft (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_weight_unit:
 * @histogram: a #GstIntegralHistogram
 *
 * Says what to divide integer weights by to get the weights of
 * [method@IntegralHistogram.get_weight]. A tensor of weights holds sums modulo 2^32; regions are
 * still exact, because large ones are cut into parts.
 *
 * Returns: 8 for gradient lengths, 256 for soft bins without gradient lengths, otherwise 1
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
guint gst_integral_histogram_get_weight_unit (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_anchors:
 * @histogram: a #GstIntegralHistogram
 * @offset: (out) (optional): 0
 * @row_step: (out) (optional): 0
 * @column_step: (out) (optional): 0
 *
 * Exists for programs of 0.2: since 0.3 no tensor has anchors. Use
 * [method@IntegralHistogram.get_element], which reads an element of any tensor.
 *
 * Returns: %FALSE; the outputs are 0
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_get_anchors (GstIntegralHistogram *histogram, gsize *offset,
                                             guint *row_step, guint *column_step);

/**
 * gst_integral_histogram_get_tiles:
 * @histogram: a #GstIntegralHistogram
 * @columns: (out) (optional): tiles next to each other
 * @rows: (out) (optional): tiles below each other
 * @tile_bytes: (out) (optional): bytes of a tile: 288, or 320 if tiles are wide
 * @wide: (out) (optional): whether tiles have room for more bits, such as those of large frames
 *
 * Describes the layout of a u8-tiled tensor, for programs that read it directly. The tile of
 * H[b][y][x] is at byte b x plane pitch + y / 16 x row pitch + x / 16 x @tile_bytes. A tile has
 * lines of 16 bytes; numbers of several bytes are little-endian. With i = y modulo 16 and j = x
 * modulo 16, H[b][y][x] is
 *
 *   corner + top[j] + left[i] + inside[i][j]
 *
 * where top[0], left[0], inside[0][j] and inside[i][0] are 0 and are not stored:
 *
 * - lines 0 and 1 are 16 numbers of 16 bits: bits 0..15 of the corner, then those of top[1..15]
 * - line 2 has bits 16..23 of the corner, then bits 8..15 of left[1..15]
 * - in wide tiles, line 3 has bits 24..31 of the corner, then bits 16..23 of top[1..15]; line 4 has
 *   0, then bits 16..23 of left[1..15]
 * - then one line for each i = 1..15: bits 0..7 of left[i], then inside[i][1..15]
 *
 * [method@IntegralHistogram.get_element] reads one element.
 *
 * Returns: whether the tensor has tiles; if not, all outputs are 0
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_get_tiles (GstIntegralHistogram *histogram, guint *columns,
                                           guint *rows, gsize *tile_bytes, gboolean *wide);

/**
 * gst_integral_histogram_get_row_pitch:
 * @histogram: a #GstIntegralHistogram
 *
 * Says how many bytes apart rows are in memory, which may be more than the length of a row.
 *
 * Returns: bytes from H[b][y][x] to H[b][y + 1][x], a multiple of 16; for a u8-tiled tensor, bytes
 * from one row of tiles to the next
 */
GST_INTEGRAL_HISTOGRAM_API
gsize gst_integral_histogram_get_row_pitch (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_plane_pitch:
 * @histogram: a #GstIntegralHistogram
 *
 * Says how many bytes apart planes are in memory.
 *
 * Returns: bytes from H[b][y][x] to H[b + 1][y][x], a multiple of 16
 */
GST_INTEGRAL_HISTOGRAM_API
gsize gst_integral_histogram_get_plane_pitch (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_n_shards:
 * @histogram: a #GstIntegralHistogram
 *
 * Says in how many shards the tensor lies. A shard is a group of bins on the device that computed
 * them (see cudaintegralhist's cuda-device-ids). Queries and [method@IntegralHistogram.get_buffer]
 * put shards together, so only programs that read device memory directly need to know. Waits until
 * the tensor is computed.
 *
 * Returns: the number of shards; 1 if the tensor is in one piece, 0 if it could not be computed
 */
GST_INTEGRAL_HISTOGRAM_API
guint gst_integral_histogram_get_n_shards (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_shard:
 * @histogram: a #GstIntegralHistogram
 * @index: 0 to [method@IntegralHistogram.get_n_shards] - 1; shards are in the order of their bins
 * @first_bin: (out) (optional): the plane of @histogram that is plane 0 of the shard
 *
 * Returns one shard as a histogram of its bins. Like any histogram on a GPU, it has a device
 * pointer and an event, and answers on a stream of its device. It keeps all of @histogram alive.
 *
 * Returns: (transfer full) (nullable): the shard; @histogram itself if that is in one piece; %NULL
 * if there is no such shard
 */
GST_INTEGRAL_HISTOGRAM_API
GstIntegralHistogram *gst_integral_histogram_get_shard (GstIntegralHistogram *histogram,
                                                        guint index, guint *first_bin);

/**
 * gst_integral_histogram_wait:
 * @histogram: a #GstIntegralHistogram
 * @timeout: nanoseconds, 0 to look without waiting, or %GST_CLOCK_TIME_NONE for no limit
 * @error: return location for a #GError
 *
 * Waits until the tensor is computed. Queries do so themselves. If the element computes on
 * demand (property `compute`), there is nothing to wait for: the query computes its answer.
 *
 * Returns: %TRUE when the tensor is computed; %FALSE with %GST_INTEGRAL_HISTOGRAM_ERROR_TIMEOUT, or
 * with %GST_INTEGRAL_HISTOGRAM_ERROR_FAILED or %GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY if it could
 * not be computed
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_wait (GstIntegralHistogram *histogram, GstClockTime timeout,
                                      GError **error);

/**
 * gst_integral_histogram_get_buffer:
 * @histogram: a #GstIntegralHistogram
 * @error: return location for a #GError
 *
 * Returns the whole tensor in host memory, as a read-only buffer: H[b][y][x] is at byte b x plane
 * pitch + y x row pitch + x x element size. A tensor in host memory is not copied; a tensor on a
 * GPU is copied once. The buffer keeps @histogram alive. For a u8-tiled tensor the buffer holds
 * tiles: see [method@IntegralHistogram.get_tiles].
 *
 * Tables also have 32-bit elements, modulo 2^32. Plane 0 is exact below 2^32 / 255 pixels, 16.8
 * million; plane 1 wraps. The difference of four corners in 32-bit unsigned arithmetic is the exact
 * sum of squares of any rectangle of up to 66051 pixels; [method@IntegralHistogram.region_sums] is
 * exact for all rectangles.
 *
 * Returns: (transfer full): the buffer, or %NULL with @error set: to
 * %GST_INTEGRAL_HISTOGRAM_ERROR_NOT_DOWNLOADED with `download=never`, or as in
 * [method@IntegralHistogram.wait]
 */
GST_INTEGRAL_HISTOGRAM_API
GstBuffer *gst_integral_histogram_get_buffer (GstIntegralHistogram *histogram, GError **error);

/**
 * gst_integral_histogram_get_element: (skip)
 * @histogram: a #GstIntegralHistogram
 * @tensor: the bytes of [method@IntegralHistogram.get_buffer], mapped
 * @bin: the plane, less than [method@IntegralHistogram.get_bins]
 * @x: the column, less than the width; -1 is left of the frame
 * @y: the row, less than the height; -1 is above the frame
 *
 * Reads H[b][y][x] for any type of counter. The element is 0 left of the frame and above it. The
 * function waits for nothing, and neither maps nor copies, so a loop may call it.
 *
 * Returns: the full count; for u16 and tables the stored element, modulo 2^16 or 2^32
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
guint32 gst_integral_histogram_get_element (GstIntegralHistogram *histogram, gconstpointer tensor,
                                            guint bin, gint x, gint y);

/**
 * gst_integral_histogram_query_element: (rename-to gst_integral_histogram_get_element)
 * @histogram: a #GstIntegralHistogram
 * @buffer: what [method@IntegralHistogram.get_buffer] has returned
 * @bin: the plane
 * @x: the column; -1 is left of the frame
 * @y: the row; -1 is above the frame
 * @error: return location for a #GError
 *
 * Does what [method@IntegralHistogram.get_element] does, for language bindings.
 *
 * Returns: H[b][y][x], or 0 with @error set, to %GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION if there
 * is no such element
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
guint32 gst_integral_histogram_query_element (GstIntegralHistogram *histogram, GstBuffer *buffer,
                                              guint bin, gint x, gint y, GError **error);

G_END_DECLS

#include <gst/integralhist/gstintegralhistogramcuda.h>
#include <gst/integralhist/gstintegralhistogramregion.h>
