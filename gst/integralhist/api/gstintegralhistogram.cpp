// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The C API of a histogram: its properties, its shards, the answers for rectangles, and its memory.
#include <gst/integralhist/gstintegralhistogram.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <kernels/tensor_view.hpp>

#include <gst/integralhist/sharded/shards.hpp>

#include "c_api.hpp"
#include "histogram.hpp"

GST_DEFINE_MINI_OBJECT_TYPE (GstIntegralHistogram, gst_integral_histogram);

GQuark gst_integral_histogram_error_quark (void)
{
  // G_DEFINE_QUARK has a data race
  static const GQuark quark = g_quark_from_static_string ("gst-integral-histogram-error-quark");
  return quark;
}

GType gst_integral_histogram_counter_get_type (void)
{
  static constexpr GEnumValue values[] = {
    { GST_INTEGRAL_HISTOGRAM_COUNTER_U32, "32 bits, exact below 2^32 pixels", "u32" },
    { GST_INTEGRAL_HISTOGRAM_COUNTER_U16,
      "16 bits, counts modulo 65536; answers for regions stay exact", "u16" },
    { GST_INTEGRAL_HISTOGRAM_COUNTER_U16_ANCHORED, "Alias of u16, for pipelines of 0.2",
      "u16-anchored" },
    { GST_INTEGRAL_HISTOGRAM_COUNTER_U8_TILED,
      "8 bits and a few more, in tiles of 16x16: under a third of the bytes of u32 (limit: 2^20 "
      "columns and rows)",
      "u8-tiled" },
  };
  return integralhist::enum_type<values> ("GstIntegralHistogramCounter");
}

namespace {

/// Returns the name of an enumerator as the compiler spells it: "inthist::Feature::hue".
template <auto kValue>
constexpr std::string_view name_of ()
{
  constexpr std::string_view kBefore = "kValue = ";
  const std::string_view text = __PRETTY_FUNCTION__;
  const auto from = text.find (kBefore) + kBefore.size ();
  return text.substr (from, text.find_first_of (";]", from) - from);
}

/// Returns whether an enumerator's name is a prefix and then a feature's nick as an identifier,
/// such as HUE_SATURATION for "hue-saturation".
constexpr bool is_named (std::string_view name, std::string_view prefix, std::string_view nick)
{
  const auto is_same = [] (char of_name, char of_nick) {
    return of_nick == '-' ? of_name == '_' : (of_name | 0x20) == of_nick;
  };
  return name.starts_with (prefix)
         && std::ranges::equal (name.substr (prefix.size ()), nick, is_same);
}

/// Returns, at compile time, whether row kRow of the table inthist::kFeatures has the name of
/// feature kRow in the C and in the C++ enumeration.
template <std::size_t kRow>
constexpr bool names_row ()
{
  const char *const nick = inthist::kFeatures[kRow].nick;
  return is_named (name_of<inthist::Feature (kRow)> (), "inthist::Feature::", nick)
         && is_named (name_of<GstIntegralHistogramFeature (kRow)> (),
                      "GST_INTEGRAL_HISTOGRAM_FEATURE_", nick);
}

static_assert (
    []<std::size_t... kRows> (std::index_sequence<kRows...>) {
      return (... && names_row<kRows> ());
    }(std::make_index_sequence<std::size (inthist::kFeatures)> ()),
    "inthist::Feature, kFeatures and GstIntegralHistogramFeature differ");

}  // namespace

GType gst_integral_histogram_feature_get_type (void)
{
  static constexpr auto values = [] {
    std::array<GEnumValue, std::size (inthist::kFeatures)> all = {};
    for (gsize i = 0; i < all.size (); i++)
      all[i] = { gint (i), inthist::kFeatures[i].blurb, inthist::kFeatures[i].nick };
    return all;
  }();
  return integralhist::enum_type<values> ("GstIntegralHistogramFeature");
}

GType gst_integral_histogram_weight_get_type (void)
{
  static constexpr GEnumValue values[] = {
    { GST_INTEGRAL_HISTOGRAM_WEIGHT_ONE, "1: pixels are counted", "one" },
    { GST_INTEGRAL_HISTOGRAM_WEIGHT_GRADIENT,
      "Length of luma's gradient, in eighths of a gray level", "gradient" },
  };
  return integralhist::enum_type<values> ("GstIntegralHistogramWeight");
}

GType gst_integral_histogram_content_get_type (void)
{
  static constexpr GEnumValue values[] = {
    { GST_INTEGRAL_HISTOGRAM_CONTENT_BINS, "Pixels of each bin: an integral histogram", "bins" },
    { GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS,
      "Sums of values and of their squares: summed-area tables", "sums" },
    { GST_INTEGRAL_HISTOGRAM_CONTENT_WEIGHTS, "Weights of each bin's pixels", "weights" },
  };
  return integralhist::enum_type<values> ("GstIntegralHistogramContent");
}

namespace integralhist {

using inthist::QueryKind;

/// Computes the count (guint32) or the sum (guint64) of each rectangle in each plane of a tensor.
template <class Answer>
static Expected<> ask_sums (Tensor &tensor, const GstVideoRectangle *rectangles, guint n,
                            Answer *answers)
{
  if (n == 0)
    return {};
  const inthist::Windows windows = TRY (windows_of (rectangles, n));
  const bool sums_wanted = sizeof (Answer) == sizeof (guint64);
  if (sums_wanted || tensor.shape.content == inthist::Content::bins) {
    const Query query = { .kind = sums_wanted ? QueryKind::sums : QueryKind::counts,
                          .windows = windows,
                          .answers = answers };
    return tensor.ask ({ &query, 1 });
  }
  const gsize n_sums = gsize (n) * tensor.shape.bins;
  g_autofree guint64 *sums = TRY (answers_for<guint64> (n_sums));
  const Query query = { .kind = QueryKind::sums, .windows = windows, .answers = sums };
  TRY (tensor.ask ({ &query, 1 }));
  for (gsize i = 0; i < n_sums; i++) {
    if (sums[i] > G_MAXUINT32)
      return error (Error::Kind::overflow, "the sum ", sums[i],
                    " does not fit 32 bits: ask gst_integral_histogram_region_sums or "
                    "gst_integral_histogram_regions_sums");
    answers[i] = Answer (sums[i]);
  }
  return {};
}

/// ask_sums () and, below, ask_sums_as_bytes () with a GError, for functions of the C API.
template <class Answer>
static gboolean add_up (GstIntegralHistogram *histogram, const GstVideoRectangle *rectangles,
                        guint n, Answer *answers, GError **error)
{
  g_return_val_if_fail (histogram && (n == 0 || (rectangles && answers)), FALSE);
  return to_c (ask_sums (*histogram->tensor, rectangles, n, answers), error);
}

template <class Answer>
static Answer *add_up_one (GstIntegralHistogram *histogram, const GstVideoRectangle &rectangle,
                           gsize *n_answers, GError **error)
{
  g_return_val_if_fail (histogram, nullptr);
  const gsize planes = histogram->tensor->shape.bins;
  g_autofree Answer *answers = g_new (Answer, planes);
  const bool answered = add_up (histogram, &rectangle, 1, answers, error);
  store (n_answers, answered ? planes : 0);
  return answered ? static_cast<Answer *> (g_steal_pointer (&answers)) : nullptr;
}

template <class Answer>
static Expected<GBytes *> ask_sums_as_bytes (Tensor &tensor, const gint *values, gsize n_values)
{
  if (n_values % 4 != 0)
    return error (Error::Kind::bad_question, n_values,
                  " numbers are not a list of rectangles: pass x, y, width, height of each");
  static_assert (sizeof (GstVideoRectangle) == 4 * sizeof (gint));
  const gsize n = n_values / 4, n_answers = n * tensor.shape.bins;
  g_autofree Answer *answers = TRY (answers_for<Answer> (n_answers));
  const auto n_asked = guint (std::min<gsize> (n, G_MAXUINT));  // ask_sums () refuses so many
  TRY (ask_sums (tensor, reinterpret_cast<const GstVideoRectangle *> (values), n_asked, answers));
  return g_bytes_new_take (g_steal_pointer (&answers), n_answers * sizeof (Answer));
}

template <class Answer>
static GBytes *add_up_bytes (GstIntegralHistogram *histogram, const gint *values, gsize n_values,
                             GError **error)
{
  g_return_val_if_fail (histogram, nullptr);
  return to_c (ask_sums_as_bytes<Answer> (*histogram->tensor, values, n_values), error);
}

static bool has_place (const inthist::Shape &shape, guint bin, gint x, gint y)
{
  return bin < guint (shape.bins) && x >= -1 && x < shape.width && y >= -1 && y < shape.height;
}

/// Reads the element H[bin][y][x] of an integral histogram from the bytes that Tensor::host ()
/// returns. x and y may be -1, where H is 0, but must otherwise lie in the frame.
static guint32 element_of (const Tensor &tensor, const void *bytes, guint bin, gint x, gint y)
{
  if (x < 0 || y < 0)
    return 0;
  return inthist::TensorView (tensor.shape, tensor.layout, bytes)
      .with_planes ([&] (const auto &plane) -> guint32 { return plane (int (bin)) (y, x); });
}

static Expected<guint32> element_in (const Tensor &tensor, GstBuffer *buffer, guint bin, gint x,
                                     gint y)
{
  const inthist::Shape &shape = tensor.shape;
  if (!has_place (shape, bin, x, y))
    return error (Error::Kind::bad_question, "there is no element ", x, ",", y, " of bin ", bin,
                  ": read one of ", shape.width, "x", shape.height, " of ", shape.bins, " bins");
  GstMapInfo map;
  if (!gst_buffer_map (buffer, &map, GST_MAP_READ))
    return error (Error::Kind::failed,
                  "the buffer cannot be mapped for reading: pass one in host memory");
  const bool fits = map.size == tensor.bytes ();
  const guint32 element = fits ? element_of (tensor, map.data, bin, x, y) : 0;
  gst_buffer_unmap (buffer, &map);
  if (!fits)
    return error (Error::Kind::bad_question,
                  "the buffer does not belong to this histogram: pass the one that "
                  "gst_integral_histogram_get_buffer has returned");
  return element;
}

static Expected<> add_reader (Tensor &tensor, inthist::Stream stream)
{
  if (DeviceTensor *const device = TRY (tensor.device_tensor ()))
    return device->add_reader (stream);
  return error (Error::Kind::failed, "the tensor is in host memory, which no stream reads: keep "
                                     "a reference for as long as it is read");
}

}  // namespace integralhist

#define GETTER(...) C_GETTER (GstIntegralHistogram, histogram, __VA_ARGS__)

GstIntegralHistogram *gst_integral_histogram_ref (GstIntegralHistogram *histogram)
{
  return reinterpret_cast<GstIntegralHistogram *> (
      gst_mini_object_ref (GST_MINI_OBJECT_CAST (histogram)));
}

void gst_integral_histogram_unref (GstIntegralHistogram *histogram)
{
  gst_mini_object_unref (GST_MINI_OBJECT_CAST (histogram));
}

GETTER (guint, gst_integral_histogram_get_width, 0, histogram->tensor->shape.width)
GETTER (guint, gst_integral_histogram_get_height, 0, histogram->tensor->shape.height)
GETTER (guint, gst_integral_histogram_get_bins, 0, histogram->tensor->shape.bins)
GETTER (guint, gst_integral_histogram_get_first_bin, 0, histogram->range.first_bin)
GETTER (guint, gst_integral_histogram_get_all_bins, 0, histogram->range.all_bins)

GstIntegralHistogramContent gst_integral_histogram_get_content (GstIntegralHistogram *histogram)
{
  g_return_val_if_fail (histogram, GST_INTEGRAL_HISTOGRAM_CONTENT_BINS);
  switch (histogram->tensor->shape.content) {
    case inthist::Content::weights: return GST_INTEGRAL_HISTOGRAM_CONTENT_WEIGHTS;
    case inthist::Content::sums: return GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS;
    case inthist::Content::bins: break;
  }
  return GST_INTEGRAL_HISTOGRAM_CONTENT_BINS;
}

GETTER (GstIntegralHistogramFeature, gst_integral_histogram_get_feature,
        GST_INTEGRAL_HISTOGRAM_FEATURE_LUMA, GstIntegralHistogramFeature (histogram->spec.feature))

void gst_integral_histogram_get_quantization (GstIntegralHistogram *histogram, guint parts[3])
{
  g_return_if_fail (histogram && parts);
  std::ranges::copy (histogram->spec.quantization, parts);
}

GETTER (GstIntegralHistogramWeight, gst_integral_histogram_get_weight,
        GST_INTEGRAL_HISTOGRAM_WEIGHT_ONE, GstIntegralHistogramWeight (histogram->spec.weight))
GETTER (gboolean, gst_integral_histogram_get_soft, FALSE, histogram->spec.soft)
GETTER (guint, gst_integral_histogram_get_weight_unit, 0,
        guint (inthist::unit_of (histogram->spec.weight, histogram->spec.soft)))
GETTER (guint32, gst_integral_histogram_get_lut_seqnum, GST_SEQNUM_INVALID,
        histogram->spec.lut_seqnum)

GstIntegralHistogramCounter gst_integral_histogram_get_counter (GstIntegralHistogram *histogram)
{
  g_return_val_if_fail (histogram, GST_INTEGRAL_HISTOGRAM_COUNTER_U32);
  const inthist::Type type = histogram->tensor->shape.counter;
  return type == inthist::Type::u16        ? GST_INTEGRAL_HISTOGRAM_COUNTER_U16
         : type == inthist::Type::u8_tiled ? GST_INTEGRAL_HISTOGRAM_COUNTER_U8_TILED
                                           : GST_INTEGRAL_HISTOGRAM_COUNTER_U32;
}

gboolean gst_integral_histogram_get_anchors (GstIntegralHistogram *histogram, gsize *offset,
                                             guint *row_step, guint *column_step)
{
  g_return_val_if_fail (histogram, FALSE);
  integralhist::store (offset, 0);
  integralhist::store (row_step, 0);
  integralhist::store (column_step, 0);
  return FALSE;
}

gboolean gst_integral_histogram_get_tiles (GstIntegralHistogram *histogram, guint *columns,
                                           guint *rows, gsize *tile_bytes, gboolean *wide)
{
  g_return_val_if_fail (histogram, FALSE);
  const inthist::Shape &shape = histogram->tensor->shape;
  const bool has = shape.counter == inthist::Type::u8_tiled;
  const inthist::Tiles tiles = has ? inthist::tiles_of (shape) : inthist::Tiles ();
  integralhist::store (columns, tiles.columns);
  integralhist::store (rows, tiles.rows);
  integralhist::store (tile_bytes, has ? tiles.bytes () : 0);
  integralhist::store (wide, tiles.wide);
  return has;
}

GETTER (gsize, gst_integral_histogram_get_row_pitch, 0, histogram->tensor->layout.row_pitch)
GETTER (gsize, gst_integral_histogram_get_plane_pitch, 0, histogram->tensor->layout.plane_pitch)

guint gst_integral_histogram_get_n_shards (GstIntegralHistogram *histogram)
{
  g_return_val_if_fail (histogram, 0);
  const auto shards = histogram->tensor->shards ();
  return shards ? std::max (1u, guint (shards->size ())) : 0;
}

GstIntegralHistogram *gst_integral_histogram_get_shard (GstIntegralHistogram *histogram,
                                                        guint index, guint *first_bin)
{
  g_return_val_if_fail (histogram, nullptr);
  integralhist::store (first_bin, 0);
  const auto shards = histogram->tensor->shards ();
  if (!shards)
    return nullptr;
  if (shards->empty () && index == 0)
    return gst_integral_histogram_ref (histogram);
  if (index >= shards->size ())
    return nullptr;
  const integralhist::Shard &shard = (*shards)[index];
  integralhist::store (first_bin, guint (shard.first_bin));
  GstIntegralHistogram *const made = integralhist::new_histogram (
      std::shared_ptr<integralhist::Tensor> (histogram->tensor, shard.tensor.get ()),
      histogram->spec);
  made->range = { histogram->range.first_bin + shard.first_bin, shard.tensor->shape.bins,
                  histogram->range.all_bins };
  return made;
}

gboolean gst_integral_histogram_wait (GstIntegralHistogram *histogram, GstClockTime timeout,
                                      GError **error)
{
  g_return_val_if_fail (histogram, FALSE);
  return integralhist::to_c (histogram->tensor->wait (timeout), error);
}

gboolean gst_integral_histogram_add_reader (GstIntegralHistogram *histogram, gpointer stream,
                                            GError **error)
{
  g_return_val_if_fail (histogram, FALSE);
  return integralhist::to_c (
      integralhist::add_reader (*histogram->tensor, static_cast<inthist::Stream> (stream)), error);
}

gboolean gst_integral_histogram_regions (GstIntegralHistogram *histogram,
                                         const GstVideoRectangle *rectangles, guint n,
                                         guint32 *counts, GError **error)
{
  return integralhist::add_up (histogram, rectangles, n, counts, error);
}

gboolean gst_integral_histogram_region (GstIntegralHistogram *histogram, gint x, gint y, gint width,
                                        gint height, guint32 *counts, GError **error)
{
  const GstVideoRectangle rectangle = { x, y, width, height };
  return integralhist::add_up (histogram, &rectangle, 1, counts, error);
}

gboolean gst_integral_histogram_regions_sums (GstIntegralHistogram *histogram,
                                              const GstVideoRectangle *rectangles, guint n,
                                              guint64 *sums, GError **error)
{
  return integralhist::add_up (histogram, rectangles, n, sums, error);
}

gboolean gst_integral_histogram_region_sums (GstIntegralHistogram *histogram, gint x, gint y,
                                             gint width, gint height, guint64 *sums, GError **error)
{
  const GstVideoRectangle rectangle = { x, y, width, height };
  return integralhist::add_up (histogram, &rectangle, 1, sums, error);
}

guint32 *gst_integral_histogram_query_region (GstIntegralHistogram *histogram, gint x, gint y,
                                              gint width, gint height, gsize *n_counts,
                                              GError **error)
{
  return integralhist::add_up_one<guint32> (histogram, { x, y, width, height }, n_counts, error);
}

GBytes *gst_integral_histogram_query_regions (GstIntegralHistogram *histogram,
                                              const gint *rectangles, gsize n_values,
                                              GError **error)
{
  return integralhist::add_up_bytes<guint32> (histogram, rectangles, n_values, error);
}

guint64 *gst_integral_histogram_query_region_sums (GstIntegralHistogram *histogram, gint x, gint y,
                                                   gint width, gint height, gsize *n_sums,
                                                   GError **error)
{
  return integralhist::add_up_one<guint64> (histogram, { x, y, width, height }, n_sums, error);
}

GBytes *gst_integral_histogram_query_regions_sums (GstIntegralHistogram *histogram,
                                                   const gint *rectangles, gsize n_values,
                                                   GError **error)
{
  return integralhist::add_up_bytes<guint64> (histogram, rectangles, n_values, error);
}

GstBuffer *gst_integral_histogram_get_buffer (GstIntegralHistogram *histogram, GError **error)
{
  g_return_val_if_fail (histogram, nullptr);
  const auto data = integralhist::to_c (histogram->tensor->host (), error);
  if (!data)
    return nullptr;
  const gsize bytes = histogram->tensor->bytes ();
  const auto release = [] (gpointer h) {
    gst_integral_histogram_unref (static_cast<GstIntegralHistogram *> (h));
  };
  return gst_buffer_new_wrapped_full (GST_MEMORY_FLAG_READONLY, const_cast<void *> (data), bytes, 0,
                                      bytes, gst_integral_histogram_ref (histogram), release);
}

guint32 gst_integral_histogram_get_element (GstIntegralHistogram *histogram, gconstpointer tensor,
                                            guint bin, gint x, gint y)
{
  g_return_val_if_fail (
      histogram && tensor && integralhist::has_place (histogram->tensor->shape, bin, x, y), 0);
  return integralhist::element_of (*histogram->tensor, tensor, bin, x, y);
}

guint32 gst_integral_histogram_query_element (GstIntegralHistogram *histogram, GstBuffer *buffer,
                                              guint bin, gint x, gint y, GError **error)
{
  g_return_val_if_fail (histogram && buffer, 0);
  return integralhist::to_c (integralhist::element_in (*histogram->tensor, buffer, bin, x, y),
                             error);
}

GETTER (guint64, gst_integral_histogram_get_device_pointer, 0,
        cuda_view_of (*histogram->tensor).pointer)
GETTER (gpointer, gst_integral_histogram_get_cuda_event, nullptr,
        cuda_view_of (*histogram->tensor).event)
GETTER (gpointer, gst_integral_histogram_get_cuda_context, nullptr,
        cuda_view_of (*histogram->tensor).context)

GETTER (gint, gst_integral_histogram_get_cuda_device, -1, cuda_view_of (*histogram->tensor).device)
