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
 * number of pixels of bin b in rows 0..y and columns 0..x (Porikli, CVPR 2005). Queries answer the
 * histogram of any rectangle; they wait until the tensor is there and work wherever it lies, in
 * host memory or on a GPU.
 *
 * The tensor may also hold summed-area tables (integral images; Crow 1984): plane 0 then adds up
 * the values of the pixels, or scores that a LUT gives them, and plane 1, where there is one, their
 * squares (Viola and Jones 2001). [method@IntegralHistogram.get_content] says which it is, and the
 * same queries answer.
 *
 * It is immutable and may be used from any thread. It outlives the element and the pipeline that
 * made it; its memory goes back for reuse with the last reference, so that a consumer which keeps
 * it for long keeps that memory.
 */
typedef struct _GstIntegralHistogram GstIntegralHistogram;

#define GST_TYPE_INTEGRAL_HISTOGRAM (gst_integral_histogram_get_type ())

/**
 * GstIntegralHistogramCounter:
 * @GST_INTEGRAL_HISTOGRAM_COUNTER_U32: 32 bits, exact below 2^32 pixels
 * @GST_INTEGRAL_HISTOGRAM_COUNTER_U16: 16 bits, the counts modulo 65536; region queries are exact
 * all the same, because regions of more than 65535 pixels are cut into parts
 * @GST_INTEGRAL_HISTOGRAM_COUNTER_U16_ANCHORED: an alias of u16, which no tensor has
 * @GST_INTEGRAL_HISTOGRAM_COUNTER_U8_TILED: tiles of 16x16 counts, in which most counts are a byte:
 * 1.125 bytes a count, and any region is exact in one step; see
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
 * @GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS: plane 0 adds up the pixels' values or scores, 0 to 255,
 * and plane 1, where there is one, their squares: summed-area tables
 * @GST_INTEGRAL_HISTOGRAM_CONTENT_WEIGHTS: plane b adds up the weights of bin b's pixels; see
 * [method@IntegralHistogram.get_weight_unit]. Since: 0.2
 *
 * What the planes of the tensor add up.
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
 * @GST_INTEGRAL_HISTOGRAM_FEATURE_LABELS: the pixel is its bin
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
 * What of a pixel is counted.
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
 * @GST_INTEGRAL_HISTOGRAM_WEIGHT_ONE: 1
 * @GST_INTEGRAL_HISTOGRAM_WEIGHT_GRADIENT: the length of luma's gradient by [-1 0 1], so 0 to 361
 * gray levels
 *
 * What a pixel adds to its bin.
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
 * @GST_INTEGRAL_HISTOGRAM_ERROR_FAILED: the tensor could not be computed or read; the message says
 * why
 * @GST_INTEGRAL_HISTOGRAM_ERROR_TIMEOUT: the tensor was not ready in time
 * @GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY: not enough memory for the tensor, a copy of it or what
 * it is asked
 * @GST_INTEGRAL_HISTOGRAM_ERROR_NOT_DOWNLOADED: a host copy was asked of a tensor whose producer
 * was told never to download
 * @GST_INTEGRAL_HISTOGRAM_ERROR_OVERFLOW: an answer takes more than 32 bits;
 * [method@IntegralHistogram.regions_sums] gives it
 * @GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION: the question makes no sense, such as one with an
 * empty model; the message says why
 *
 * Why a question has no answer. The message of the error names the limit and the remedy, for users.
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
 * Drops a reference. With the last one the memory of the tensor goes back for reuse.
 */
GST_INTEGRAL_HISTOGRAM_API
void gst_integral_histogram_unref (GstIntegralHistogram *histogram);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstIntegralHistogram, gst_integral_histogram_unref)

/**
 * gst_integral_histogram_get_width:
 * @histogram: a #GstIntegralHistogram
 *
 * Says how wide the frame is that was computed.
 *
 * Returns: columns of the tensor, the frame's width in pixels
 */
GST_INTEGRAL_HISTOGRAM_API
guint gst_integral_histogram_get_width (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_height:
 * @histogram: a #GstIntegralHistogram
 *
 * Says how high the frame is that was computed.
 *
 * Returns: rows of the tensor, the frame's height in pixels
 */
GST_INTEGRAL_HISTOGRAM_API
guint gst_integral_histogram_get_height (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_bins:
 * @histogram: a #GstIntegralHistogram
 *
 * Says how many planes the tensor has: one for each bin that was made, or one for each table.
 * [method@IntegralHistogram.get_all_bins] has how many bins there are besides.
 *
 * Returns: planes of the tensor: 1 to 256 bins, or 1 or 2 tables
 */
GST_INTEGRAL_HISTOGRAM_API
guint gst_integral_histogram_get_bins (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_first_bin:
 * @histogram: a #GstIntegralHistogram
 *
 * Says which bin plane 0 is of, where there are planes of some bins alone: those that
 * cudaintegralhist's properties `first-bin` and `n-bins` say, or of a shard
 * ([method@IntegralHistogram.get_shard]). Plane b is of bin first_bin + b, and bins are those of
 * the whole histogram. Counts of several ranges, one behind the other, are those of the whole.
 *
 * Where `first-bin` and `n-bins` leave bins out, what compares histograms or takes a quantile is
 * refused: [method@IntegralHistogram.likelihoods], [method@IntegralHistogram.likelihood_maps],
 * [method@IntegralHistogram.quantile_maps] and [method@IntegralHistogram.vote_maps] want all bins.
 *
 * Returns: the bin of plane 0; 0 where there are planes of all bins, and of tables
 *
 * Since: 0.3
 */
GST_INTEGRAL_HISTOGRAM_API
guint gst_integral_histogram_get_first_bin (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_all_bins:
 * @histogram: a #GstIntegralHistogram
 *
 * Says how many bins the whole histogram has, where there are planes of some alone; see
 * [method@IntegralHistogram.get_first_bin].
 *
 * Returns: the bins of the whole; as many as [method@IntegralHistogram.get_bins] where nothing is
 * left out, and of tables
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
 * Says of which type the elements are, for those who read the tensor themselves.
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
 * Returns: what of a pixel is counted
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
GstIntegralHistogramFeature gst_integral_histogram_get_feature (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_quantization:
 * @histogram: a #GstIntegralHistogram
 * @parts: (out caller-allocates) (array fixed-size=3): into how many parts each value of a joint
 * feature is divided; 0 where the feature has no such value, and three zeros where it is not joint.
 * Bin (i * parts[1] + j) * parts[2] + k is of parts i, j and k, or i * parts[1] + j where parts[2]
 * is 0. Where the producer has a lut, that is the value which it makes a bin, or a score, of
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
 * Whose scores a table adds up. An element that changes them with
 * [func@integral_image_lut_event_new] sees here from which frame on they hold.
 *
 * Returns: [method@Gst.Event.get_seqnum] of the event that brought the scores; %GST_SEQNUM_INVALID
 * (0) where the element's properties say them, and of histograms
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
guint32 gst_integral_histogram_get_lut_seqnum (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_weight:
 * @histogram: a #GstIntegralHistogram
 *
 * Says what each pixel counts; it is the element's property `weight`.
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
 * Says whether pixels are shared by neighbouring bins; it is the element's property `soft`.
 *
 * Returns: whether a pixel's weight is shared by the two bins whose middles its value lies between
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_get_soft (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_weight_unit:
 * @histogram: a #GstIntegralHistogram
 *
 * Weights are integers; divided by this they are what [method@IntegralHistogram.get_weight] says. A
 * tensor of weights holds sums modulo 2^32; regions are exact all the same, because large ones are
 * cut into parts.
 *
 * Returns: 8 for lengths of gradients, 256 for soft bins without, else 1
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
 * No tensor has anchors since 0.3. [method@IntegralHistogram.get_element] reads an element of any
 * tensor, and [method@IntegralHistogram.get_counter] says what the elements are.
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
 * @tile_bytes: (out) (optional): bytes of a tile: 288, or 320 where tiles are wide
 * @wide: (out) (optional): whether tiles have room for more bits, as those of large frames
 *
 * How a u8-tiled tensor lies, for those who read it themselves. The tile of H[b][y][x] is at byte b
 * x plane pitch + y / 16 x row pitch + x / 16 x @tile_bytes. It is of lines of 16 bytes; numbers of
 * several bytes are little-endian. With i = y modulo 16 and j = x modulo 16, H[b][y][x] is
 *
 *   corner + top[j] + left[i] + inside[i][j]
 *
 * where top[0], left[0], inside[0][j] and inside[i][0] are 0 and lie nowhere:
 *
 * - lines 0 and 1 are 16 numbers of 16 bits: bits 0..15 of the corner, then those of top[1..15]
 * - line 2 has bits 16..23 of the corner, then bits 8..15 of left[1..15]
 * - of wide tiles, line 3 has bits 24..31 of the corner, then bits 16..23 of top[1..15]; line 4 has
 *   0, then bits 16..23 of left[1..15]
 * - then one line for each i = 1..15: bits 0..7 of left[i], then inside[i][1..15]
 *
 * [method@IntegralHistogram.get_element] reads one.
 *
 * Returns: whether there are tiles; if not, all is 0
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
 * Says how far apart rows are in memory, which may be more than a row is long.
 *
 * Returns: bytes from H[b][y][x] to H[b][y + 1][x], a multiple of 16; of a u8-tiled tensor those
 * from a row of tiles to the next
 */
GST_INTEGRAL_HISTOGRAM_API
gsize gst_integral_histogram_get_row_pitch (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_plane_pitch:
 * @histogram: a #GstIntegralHistogram
 *
 * Says how far apart planes are in memory.
 *
 * Returns: bytes from H[b][y][x] to H[b + 1][y][x], a multiple of 16
 */
GST_INTEGRAL_HISTOGRAM_API
gsize gst_integral_histogram_get_plane_pitch (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_n_shards:
 * @histogram: a #GstIntegralHistogram
 *
 * A tensor may lie in shards: groups of bins, each on the device that computed it (see
 * cudaintegralhist's cuda-device-ids). Queries and [method@IntegralHistogram.get_buffer] put them
 * together, so that only those who read device memory themselves need to know. Waits until the
 * tensor is computed.
 *
 * Returns: how many there are; 1 where the tensor is in one piece, 0 where it could not be computed
 */
GST_INTEGRAL_HISTOGRAM_API
guint gst_integral_histogram_get_n_shards (GstIntegralHistogram *histogram);

/**
 * gst_integral_histogram_get_shard:
 * @histogram: a #GstIntegralHistogram
 * @index: 0 to [method@IntegralHistogram.get_n_shards] - 1; shards are in the order of their bins
 * @first_bin: (out) (optional): the plane of @histogram that is plane 0 of the shard
 *
 * One of the shards, as a histogram of its bins: it has a device pointer and an event, and is asked
 * on a stream of its device, like any other. It keeps the whole of @histogram.
 *
 * Returns: (transfer full) (nullable): the shard; @histogram itself where that is in one piece;
 * %NULL where there is no such shard
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
 * Waits until the tensor is computed. The queries do so themselves. A tensor that is computed when
 * somebody asks (the element's property `compute`) is not waited for: the query takes the time.
 *
 * Returns: %TRUE when it is; %FALSE with %GST_INTEGRAL_HISTOGRAM_ERROR_TIMEOUT, or with
 * %GST_INTEGRAL_HISTOGRAM_ERROR_FAILED or %GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY if it could not
 * be computed
 */
GST_INTEGRAL_HISTOGRAM_API
gboolean gst_integral_histogram_wait (GstIntegralHistogram *histogram, GstClockTime timeout,
                                      GError **error);

/**
 * gst_integral_histogram_get_buffer:
 * @histogram: a #GstIntegralHistogram
 * @error: return location for a #GError
 *
 * The whole tensor in host memory, as a read-only buffer: H[b][y][x] is at byte b x plane pitch + y
 * x row pitch + x x element size. A tensor in host memory is not copied; one on a GPU is, once. The
 * buffer keeps @histogram alive. That of a u8-tiled tensor is of tiles: see
 * [method@IntegralHistogram.get_tiles].
 *
 * Tables have 32-bit elements too, modulo 2^32: exact as they are below 2^32 / 255 pixels, 16.8
 * million, in plane 0; in plane 1 they wrap. The difference of four corners, taken modulo 2^32 as
 * unsigned arithmetic does by itself, is the exact sum of squares of any rectangle of up to 66051
 * pixels; [method@IntegralHistogram.region_sums] is exact for all.
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
 * Reads H[b][y][x], whichever the counter. It is 0 left of the frame and above. Nothing is waited
 * for, mapped or copied, so that a loop may call it.
 *
 * Returns: the count in full; with u16, and of tables, the element as it is, modulo 2^16 or 2^32
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
 * [method@IntegralHistogram.get_element] for language bindings.
 *
 * Returns: H[b][y][x], or 0 with @error set, to %GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION where
 * there is no such place
 *
 * Since: 0.2
 */
GST_INTEGRAL_HISTOGRAM_API
guint32 gst_integral_histogram_query_element (GstIntegralHistogram *histogram, GstBuffer *buffer,
                                              guint bin, gint x, gint y, GError **error);

G_END_DECLS

#include <gst/integralhist/gstintegralhistogramcuda.h>
#include <gst/integralhist/gstintegralhistogramregion.h>
